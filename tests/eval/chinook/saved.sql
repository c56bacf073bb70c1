-- The ten questions that are saved over the Chinook database. Each: its label, its prompt, its
-- display, its parameters, and the statement. They were written before any of asked.tsv.

-- label: Best-selling artists
-- prompt: Top {n} artists by revenue
-- display: bar
-- params: [{"name": "n", "type": "integer", "default": 10, "min": 1, "max": 100}]
select ar.name as artist, sum(il.unit_price * il.quantity) as revenue
from invoice_line as il
inner join track as t on t.track_id = il.track_id
inner join album as al on al.album_id = t.album_id
inner join artist as ar on ar.artist_id = al.artist_id
group by ar.artist_id, ar.name
order by revenue desc, ar.name
limit :n

-- label: Albums of an artist
-- prompt: Which albums do we have by the artist {artist}?
-- display: table
-- params: [{"name": "artist", "type": "text", "column": "public.artist.name", "example": "Queen"}]
select al.title as album, count(t.track_id) as tracks
from artist as ar
inner join album as al on al.artist_id = ar.artist_id
left join track as t on t.album_id = al.album_id
where ar.name = :artist
group by al.album_id, al.title
order by al.title

-- label: Best customers of a country
-- prompt: Who are the {n} best customers in {country} by money spent?
-- display: table
-- params: [{"name": "n", "type": "integer", "default": 5, "min": 1, "max": 100}, {"name": "country", "type": "text", "column": "public.customer.country", "example": "Canada"}]
select c.first_name || ' ' || c.last_name as customer, sum(i.total) as spent
from customer as c
inner join invoice as i on i.customer_id = c.customer_id
where c.country = :country
group by c.customer_id, c.first_name, c.last_name
order by spent desc, customer
limit :n

-- label: Sales of a year
-- prompt: What were our total sales in {year}?
-- display: number
-- params: [{"name": "year", "type": "integer", "min": 2000, "max": 2100, "example": 2024}]
select sum(i.total) as sales
from invoice as i
where extract(year from i.invoice_date) = :year

-- label: Sales by month
-- prompt: How did sales develop month by month in {year}?
-- display: line
-- params: [{"name": "year", "type": "integer", "min": 2000, "max": 2100, "example": 2024}]
select to_char(i.invoice_date, 'YYYY-MM') as month, sum(i.total) as sales
from invoice as i
where extract(year from i.invoice_date) = :year
group by month
order by month

-- label: Best-selling tracks of a genre
-- prompt: Which {n} tracks of the genre {genre} sold most often?
-- display: table
-- params: [{"name": "n", "type": "integer", "default": 10, "min": 1, "max": 100}, {"name": "genre", "type": "text", "column": "public.genre.name", "example": "Jazz"}]
select t.name as track, sum(il.quantity) as sold
from invoice_line as il
inner join track as t on t.track_id = il.track_id
inner join genre as g on g.genre_id = t.genre_id
where g.name = :genre
group by t.track_id, t.name
order by sold desc, t.name, t.track_id
limit :n

-- label: Customers of a country
-- prompt: How many customers do we have in {country}?
-- display: number
-- params: [{"name": "country", "type": "text", "column": "public.customer.country", "example": "Canada"}]
select count(*) as customers
from customer as c
where c.country = :country

-- label: Invoices of a customer
-- prompt: Show the invoices of the customer {customer}
-- display: table
-- params: [{"name": "customer", "type": "text", "column": "public.customer.last_name", "example": "Gruber"}]
select i.invoice_id as invoice, i.invoice_date::date as day, i.total
from customer as c
inner join invoice as i on i.customer_id = c.customer_id
where c.last_name = :customer
order by i.invoice_date, i.invoice_id

-- label: Tracks per genre
-- prompt: How many tracks are there in each genre?
-- display: bar
-- params: []
select g.name as genre, count(*) as tracks
from genre as g
inner join track as t on t.genre_id = g.genre_id
group by g.genre_id, g.name
order by tracks desc, g.name

-- label: Sales of each agent
-- prompt: How much did each sales agent sell in {year}?
-- display: bar
-- params: [{"name": "year", "type": "integer", "min": 2000, "max": 2100, "example": 2024}]
select e.first_name || ' ' || e.last_name as agent, sum(i.total) as sales
from employee as e
inner join customer as c on c.support_rep_id = e.employee_id
inner join invoice as i on i.customer_id = c.customer_id
where extract(year from i.invoice_date) = :year
group by e.employee_id, e.first_name, e.last_name
order by sales desc, agent
