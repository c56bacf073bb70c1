"""The questions that the demonstration saves, and the five that it asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Parameter = dict[str, object]

_YEAR: Parameter = {"name": "year", "type": "integer", "min": 2024, "max": 2026, "example": 2025}
_CATEGORY: Parameter = {
    "name": "category",
    "type": "text",
    "column": "shop.product.category",
    "example": "Kitchen",
}
_COUNTRY: Parameter = {
    "name": "country",
    "type": "text",
    "column": "shop.customer.country",
    "example": "France",
}


def _top(default: int) -> Parameter:
    return {"name": "n", "type": "integer", "default": default, "min": 1, "max": 100}


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """One question over the shop. `display` says how its result is best shown."""

    label: str
    canonical_prompt: str
    sql: str
    display: Literal["table", "bar", "line", "pie", "number"] = "table"
    params: tuple[Parameter, ...] = field(default=())

    def sqls(self) -> list[dict[str, str]]:
        """As `save_question` takes them."""
        return [{"sql": self.sql, "display": self.display, "title": self.label}]


SAVED: tuple[SavedQuestion, ...] = (
    SavedQuestion(
        "Top products of a category",
        "Top {n} products in the category {category} in {year} by revenue",
        """
select p.name as product, sum(l.quantity * l.unit_price) as revenue, sum(l.quantity) as pieces
from shop.order_line as l
inner join shop.product as p on p.id = l.product_id
inner join shop.orders as o on o.id = l.order_id
where
    p.category = :category
    and extract(year from o.ordered_on) = :year
    and o.status <> 'cancelled'
group by p.name
order by revenue desc, p.name
limit :n
""",
        "table",
        (_top(5), _CATEGORY, _YEAR),
    ),
    SavedQuestion(
        "Best customers",
        "Who are the top {n} customers by revenue?",
        """
select c.name as customer, sum(l.quantity * l.unit_price) as revenue,
    count(distinct o.id) as orders, c.country
from shop.customer as c
inner join shop.orders as o on o.customer_id = c.id
inner join shop.order_line as l on l.order_id = o.id
where o.status <> 'cancelled'
group by c.id, c.name, c.country
order by revenue desc, c.name
limit :n
""",
        "table",
        (_top(10),),
    ),
    SavedQuestion(
        "Revenue by category",
        "What is the revenue of each product category?",
        """
select p.category, sum(l.quantity * l.unit_price) as revenue
from shop.order_line as l
inner join shop.product as p on p.id = l.product_id
inner join shop.orders as o on o.id = l.order_id
where o.status <> 'cancelled'
group by p.category
order by revenue desc
""",
        "bar",
    ),
    SavedQuestion(
        "Revenue by month",
        "How did revenue develop by month in {year}?",
        """
select to_char(o.ordered_on, 'YYYY-MM') as month, sum(l.quantity * l.unit_price) as revenue
from shop.orders as o
inner join shop.order_line as l on l.order_id = o.id
where extract(year from o.ordered_on) = :year and o.status <> 'cancelled'
group by month
order by month
""",
        "line",
        (_YEAR,),
    ),
    SavedQuestion(
        "Customers by country",
        "How many customers are there in each country?",
        """
select c.country, count(*) as customers
from shop.customer as c
group by c.country
order by customers desc, c.country
""",
        "bar",
    ),
    SavedQuestion(
        "Customers of a country",
        "How many customers live in {country}?",
        """
select count(*) as customers
from shop.customer as c
where c.country = :country
""",
        "number",
        (_COUNTRY,),
    ),
    SavedQuestion(
        "Orders of a customer",
        "Show the orders of the customer {customer}",
        """
select o.id as order_number, o.ordered_on, o.status, sum(l.quantity * l.unit_price) as total
from shop.customer as c
inner join shop.orders as o on o.customer_id = c.id
inner join shop.order_line as l on l.order_id = o.id
where c.name = :customer
group by o.id, o.ordered_on, o.status
order by o.ordered_on desc, o.id desc
""",
        "table",
        (
            {
                "name": "customer",
                "type": "text",
                "column": "shop.customer.name",
                "example": "Ada Adler",
            },
        ),
    ),
    SavedQuestion(
        "Average order value",
        "What is the average order value in {year}?",
        """
select round(avg(t.total), 2) as average_order_value
from (
    select sum(l.quantity * l.unit_price) as total
    from shop.orders as o
    inner join shop.order_line as l on l.order_id = o.id
    where extract(year from o.ordered_on) = :year and o.status <> 'cancelled'
    group by o.id
) as t
""",
        "number",
        (_YEAR,),
    ),
    SavedQuestion(
        "Most returned products",
        "Which {n} products are returned most often?",
        """
select p.name as product, sum(l.quantity) as returned_pieces, p.category
from shop.order_line as l
inner join shop.product as p on p.id = l.product_id
inner join shop.orders as o on o.id = l.order_id
where o.status = 'returned'
group by p.name, p.category
order by returned_pieces desc, p.name
limit :n
""",
        "bar",
        (_top(10),),
    ),
    SavedQuestion(
        "Customers without an order",
        "Which customers have never ordered anything?",
        """
select c.name as customer, c.country, c.joined_on
from shop.customer as c
where not exists (select from shop.orders as o where o.customer_id = c.id)
order by c.joined_on, c.name
""",
    ),
)

ASKED: tuple[tuple[str, str], ...] = (
    ("A table", "who are our top 5 customers by revenue?"),
    ("A chart", "what is the revenue of each category?"),
    ("A misspelt name", "top 3 products in the furnitre category in 2025?"),
    ("Words alone, from the help centre", "how do I get my money back?"),
    ("The database itself", "which tables take the most space?"),
)
"""What each shows, and the question as a person types it."""
