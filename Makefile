# Every target is a line or two; the work is done by the scripts in migrations/setup.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup db url psql stop clean demo migrate test lint types bench eval worker
SETUP := migrations/setup
# A database of your own: make migrate DATABASE_URL=postgresql://... Only what is given to make
# itself counts; a DATABASE_URL in the environment may be another program's.
ifneq ($(origin DATABASE_URL),command line)
DATABASE_URL :=
endif
SERVER := $(if $(DATABASE_URL),setup,db)
# More arguments for pytest: make test PYTEST='-k chunk'
PYTEST ?=

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

demo: migrate ## load the demonstration data and show five questions with their answers
	@bash $(SETUP)/with_database.sh python -m pgask.demo

setup: ## install what is missing: packages, Python environments, the model
	@bash $(SETUP)/packages.sh && bash $(SETUP)/environments.sh && bash $(SETUP)/model.sh

db: setup ## start the private PostgreSQL
	@bash $(SETUP)/database.sh start

url: ## print the private database's URL
	@bash $(SETUP)/database.sh url

psql: db ## open the private database
	@bash $(SETUP)/database.sh psql

stop: ## stop the private PostgreSQL
	@bash $(SETUP)/database.sh stop

clean: ## stop it and remove everything that was made
	@bash $(SETUP)/clean.sh

migrate: $(SERVER) ## install pgask into the private database, or into DATABASE_URL
	@bash $(SETUP)/with_database.sh python migrations/install.py

test: lint types db ## run every check and every test
	@bash $(SETUP)/tests.sh $(PYTEST)

lint: setup ## check the style of Python and SQL
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/sqlfluff lint sql migrations/versions

types: setup ## check the types
	@.venv/bin/pyright --pythonpath .venv/bin/python

bench: migrate ## measure speed, as ratios within one run
	@bash $(SETUP)/each_script.sh tests/bench

eval: migrate ## measure the quality of the answers
	@bash $(SETUP)/each_script.sh tests/eval

worker: $(SERVER) ## embed what is due, until interrupted
	@bash $(SETUP)/with_database.sh pgask worker
