CREATE TABLE people (
    person_id BIGINT NOT NULL PRIMARY KEY, full_name VARCHAR(40) NOT NULL, reports_to BIGINT,
    FOREIGN KEY (reports_to) REFERENCES people (person_id)
);
CREATE TABLE addresses (country VARCHAR(2) NOT NULL, code VARCHAR(9) NOT NULL, town VARCHAR(40), PRIMARY KEY (country, code));
CREATE TABLE orders (
    order_no BIGINT NOT NULL PRIMARY KEY, placed DATE, customer_id BIGINT NOT NULL, packed_by BIGINT,
    billing_country VARCHAR(2), billing_code VARCHAR(9), shipping_country VARCHAR(2), shipping_code VARCHAR(9),
    FOREIGN KEY (customer_id) REFERENCES people (person_id),
    FOREIGN KEY (packed_by) REFERENCES people (person_id),
    FOREIGN KEY (billing_country, billing_code) REFERENCES addresses (country, code),
    FOREIGN KEY (shipping_country, shipping_code) REFERENCES addresses (country, code)
);
CREATE TABLE products (sku VARCHAR(12) NOT NULL PRIMARY KEY, name VARCHAR(40), price DECIMAL(10, 2));
CREATE TABLE order_lines (
    order_no BIGINT NOT NULL, sku VARCHAR(12) NOT NULL, quantity INT NOT NULL, PRIMARY KEY (order_no, sku),
    FOREIGN KEY (order_no) REFERENCES orders (order_no),
    FOREIGN KEY (sku) REFERENCES products (sku)
);
CREATE TABLE categories (name VARCHAR(20) NOT NULL PRIMARY KEY);
CREATE TABLE product_categories (
    sku VARCHAR(12) NOT NULL, category VARCHAR(20) NOT NULL, PRIMARY KEY (sku, category),
    FOREIGN KEY (sku) REFERENCES products (sku),
    FOREIGN KEY (category) REFERENCES categories (name)
);
CREATE TABLE log_lines (written DATE, line VARCHAR(200));
CREATE VIEW dear_products AS SELECT sku FROM products WHERE price > 100;
