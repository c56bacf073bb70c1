"""A synthetic shop: customers, products, orders and their lines, the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, LiteralString

from psycopg.sql import SQL, Identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import psycopg

SEED = 7
FIRST_DAY = date(2024, 1, 1)
LAST_DAY = date(2026, 12, 31)
_CUSTOMERS = 300
_ORDERS = 2400
_DAYS = (LAST_DAY - FIRST_DAY).days + 1

SCHEMA: LiteralString = """
create schema shop;
create table shop.customer (
    id integer primary key,
    name text not null,
    email text not null unique,
    city text not null,
    country text not null,
    joined_on date not null
);
create table shop.product (
    id integer primary key,
    name text not null unique,
    category text not null,
    price numeric(10, 2) not null check (price > 0)
);
create table shop.orders (
    id integer primary key,
    customer_id integer not null references shop.customer (id),
    ordered_on date not null,
    status text not null check (status in ('placed', 'shipped', 'delivered', 'returned',
        'cancelled'))
);
create index orders_customer_id on shop.orders (customer_id);
create index orders_ordered_on on shop.orders (ordered_on);
create table shop.order_line (
    order_id integer not null references shop.orders (id),
    line_number integer not null,
    product_id integer not null references shop.product (id),
    quantity integer not null check (quantity > 0),
    unit_price numeric(10, 2) not null,
    primary key (order_id, line_number)
);
create index order_line_product_id on shop.order_line (product_id);
comment on table shop.customer is 'People who have an account.';
comment on table shop.product is 'What the shop sells.';
comment on table shop.orders is 'Orders; a cancelled one counts for nothing.';
comment on table shop.order_line is 'The products of an order.';
comment on column shop.order_line.unit_price is 'Price of one piece on the day of the order.';
"""

_PRODUCTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Furniture": (
        ("Walnut desk", "749.00"),
        ("Oak shelf", "389.00"),
        ("Birch stool", "89.00"),
        ("Ash dining table", "899.00"),
        ("Linen armchair", "529.00"),
        ("Pine bed frame", "459.00"),
        ("Rattan chair", "179.00"),
        ("Cherry sideboard", "679.00"),
    ),
    "Lighting": (
        ("Brass floor lamp", "219.00"),
        ("Paper lantern", "39.00"),
        ("Reading light", "69.00"),
        ("Opal pendant", "149.00"),
        ("Ceramic table lamp", "99.00"),
        ("Garden string lights", "45.00"),
        ("Wall spot", "59.00"),
    ),
    "Kitchen": (
        ("Cast iron pan", "79.00"),
        ("Chef's knife", "94.00"),
        ("Stoneware bowl", "24.00"),
        ("Espresso maker", "129.00"),
        ("Copper kettle", "89.00"),
        ("Bread board", "34.00"),
        ("Pepper mill", "42.00"),
        ("Glass teapot", "38.00"),
        ("Enamel casserole", "109.00"),
    ),
    "Textiles": (
        ("Wool blanket", "119.00"),
        ("Linen sheets", "139.00"),
        ("Cotton towel", "19.00"),
        ("Velvet cushion", "35.00"),
        ("Jute rug", "159.00"),
        ("Silk pillowcase", "49.00"),
        ("Waffle bathrobe", "75.00"),
    ),
    "Garden": (
        ("Teak bench", "349.00"),
        ("Zinc watering can", "44.00"),
        ("Terracotta pot", "18.00"),
        ("Canvas hammock", "129.00"),
        ("Steel fire bowl", "199.00"),
        ("Pruning shears", "36.00"),
        ("Bird house", "29.00"),
    ),
    "Office": (
        ("Mesh desk chair", "289.00"),
        ("Felt desk pad", "39.00"),
        ("Monitor stand", "79.00"),
        ("Leather notebook", "32.00"),
        ("Fountain pen", "64.00"),
        ("Cork pinboard", "48.00"),
        ("Filing cabinet", "239.00"),
    ),
    "Storage": (
        ("Willow basket", "55.00"),
        ("Shoe rack", "84.00"),
        ("Glass jar set", "29.00"),
        ("Wall hooks", "22.00"),
        ("Underbed box", "37.00"),
        ("Coat stand", "99.00"),
        ("Ladder shelf", "169.00"),
    ),
    "Toys": (
        ("Wooden train", "59.00"),
        ("Plush fox", "27.00"),
        ("Building blocks", "45.00"),
        ("Marble run", "69.00"),
        ("Puzzle of Europe", "24.00"),
        ("Rocking horse", "149.00"),
        ("Puppet theatre", "119.00"),
    ),
}

_CITIES: dict[str, tuple[str, ...]] = {
    "Germany": ("Berlin", "Hamburg", "Leipzig", "Freiburg"),
    "France": ("Lyon", "Nantes", "Lille"),
    "Netherlands": ("Utrecht", "Groningen"),
    "Spain": ("Valencia", "Bilbao"),
    "Italy": ("Bologna", "Turin"),
    "Sweden": ("Uppsala", "Malmö"),
    "Poland": ("Gdańsk", "Wrocław"),
    "Austria": ("Graz", "Linz"),
    "Ireland": ("Cork", "Galway"),
    "Portugal": ("Porto", "Braga"),
}
_COUNTRY_WEIGHTS = (26, 17, 13, 10, 9, 7, 7, 5, 3, 3)

_FIRST_NAMES = """
    Ada Alma Amir Anouk Bela Bruno Carla Chiara Dario Edda Elif Emil Fabio Fatima Finn Greta
    Hanna Hugo Ida Igor Jana Jonas Karim Klara Lars Leila Lena Luca Maja Malik Marta Milan
    Nadia Nils Olga Oscar Paula Pavel Rafael Rosa Samira Sofia Tara Theo Tomas Vera Viktor
    Yara Yusuf Zoe
"""
_LAST_NAMES = """
    Adler Almeida Bakker Barros Bauer Bianchi Blanco Brandt Byrne Costa Dahl Dubois Eriksson
    Ferrari Fontaine Garcia Gallagher Haas Hansen Ivanova Jansen Kaya Keller Kowalska Krause
    Lambert Lindqvist Marino Martel Moreau Nowak Okafor Olsen Petrov Pinto Quinn Rahimi Ricci
    Rossi Santos Schulz Serrano Sousa Svensson Tanaka Vidal Vogel Weber Wolff Zielinska
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """The rows of the four tables, in the order of their columns."""

    customers: Sequence[tuple[int, str, str, str, str, date]]
    products: Sequence[tuple[int, str, str, Decimal]]
    orders: Sequence[tuple[int, int, date, str]]
    order_lines: Sequence[tuple[int, int, int, int, Decimal]]


def make_shop(seed: int = SEED) -> Shop:
    """The whole shop; the same rows for the same seed on every machine."""
    random = Random(seed)
    products = [
        (number, name, category, Decimal(price))
        for number, (category, name, price) in enumerate(
            ((c, n, p) for c, entries in _PRODUCTS.items() for n, p in entries), start=1
        )
    ]
    customers = _customers(random)
    orders = _orders(random, customers)
    return Shop(customers, products, orders, _order_lines(random, orders, products))


def load_shop(connection: psycopg.Connection[object], shop: Shop) -> int:
    """Make the schema `shop` and copy every row; returns the number of rows."""
    connection.execute(SCHEMA)
    rows = (
        _copy(connection, "customer", shop.customers)
        + _copy(connection, "product", shop.products)
        + _copy(connection, "orders", shop.orders)
        + _copy(connection, "order_line", shop.order_lines)
    )
    connection.execute("analyze shop.customer, shop.product, shop.orders, shop.order_line")
    return rows


def _customers(random: Random) -> list[tuple[int, str, str, str, str, date]]:
    names = random.sample(
        [f"{first} {last}" for first in _FIRST_NAMES.split() for last in _LAST_NAMES.split()],
        _CUSTOMERS,
    )
    countries = random.choices(list(_CITIES), _COUNTRY_WEIGHTS, k=_CUSTOMERS)
    return [
        (
            number,
            name,
            f"{name.lower().replace(' ', '.')}@example.com",
            random.choice(_CITIES[country]),
            country,
            FIRST_DAY + timedelta(days=int(_DAYS * 0.9 * random.random() ** 2)),
        )
        for number, (name, country) in enumerate(zip(names, countries, strict=True), start=1)
    ]


def _orders(
    random: Random, customers: Sequence[tuple[int, str, str, str, str, date]]
) -> list[tuple[int, int, date, str]]:
    # A few customers order often and most of them now and then, as in any shop.
    loyalty = [random.paretovariate(1.3) for _ in customers]
    days = [FIRST_DAY + timedelta(days=n) for n in range(_DAYS)]
    busy = [(1 + n / _DAYS) * (1.7 if day.month in (11, 12) else 1) for n, day in enumerate(days)]
    orders: list[tuple[int, int, date, str]] = []
    for number, day in enumerate(sorted(random.choices(days, busy, k=_ORDERS)), start=1):
        customer = random.choices(customers, loyalty)[0]
        joined = customer[5]
        while joined > day:
            customer = random.choice(customers)
            joined = customer[5]
        orders.append((number, customer[0], day, _status(random, day)))
    return orders


def _status(random: Random, day: date) -> str:
    if (LAST_DAY - day).days < 4:
        return "placed"
    if (LAST_DAY - day).days < 10:
        return "shipped"
    return random.choices(("delivered", "returned", "cancelled"), (90, 6, 4))[0]


def _order_lines(
    random: Random,
    orders: Sequence[tuple[int, int, date, str]],
    products: Sequence[tuple[int, str, str, Decimal]],
) -> list[tuple[int, int, int, int, Decimal]]:
    popularity = [random.uniform(0.4, 1.6) for _ in products]
    lines: list[tuple[int, int, int, int, Decimal]] = []
    for order_id, _customer, day, _state in orders:
        chosen = dict.fromkeys(random.choices(range(len(products)), popularity, k=_basket(random)))
        for line_number, place in enumerate(chosen, start=1):
            product_id, _name, _category, price = products[place]
            quantity = random.choices((1, 2, 3, 4), (70, 18, 7, 5))[0]
            # Today's price is that of 2026; it was three per cent lower in each year before.
            earlier = Decimal("0.97") ** (LAST_DAY.year - day.year)
            paid = (price * earlier).quantize(Decimal("0.01"))
            lines.append((order_id, line_number, product_id, quantity, paid))
    return lines


def _basket(random: Random) -> int:
    return random.choices((1, 2, 3, 4, 5), (35, 30, 20, 10, 5))[0]


def _copy(
    connection: psycopg.Connection[object], table: str, rows: Iterable[Sequence[object]]
) -> int:
    count = 0
    statement = SQL("copy shop.{} from stdin").format(Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count
