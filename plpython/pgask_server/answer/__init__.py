"""The answer as a person reads it: values, the narrative, tables, charts, Markdown."""
