-- Seed of mysql2: two databases, two shards of orders and two of customers in each.
-- Run by the mysql image as root when its data directory is new.
SET NAMES utf8mb4;

CREATE DATABASE shop_3 CHARACTER SET utf8mb4;
GRANT SELECT, LOCK TABLES ON shop_3.* TO 'tributary'@'%';
CREATE TABLE shop_3.orders_0 (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer   BIGINT NOT NULL,
  amount     DECIMAL(12, 2) NOT NULL,
  note       VARCHAR(200),
  created_at DATETIME(3) NOT NULL
);
INSERT INTO shop_3.orders_0 (customer, amount, note, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT 1 + i % 97, i * 1.25, IF(i % 5 = 0, NULL, CONCAT('order ', i, ' ✓')), '2026-01-01' + INTERVAL i MINUTE FROM n;
CREATE TABLE shop_3.customers_0 (
  id      BIGINT NOT NULL PRIMARY KEY,
  name    VARCHAR(100) NOT NULL,
  country CHAR(2) NOT NULL,
  active  TINYINT(1) NOT NULL
);
INSERT INTO shop_3.customers_0
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 97)
SELECT i, CONCAT('customer ', i), ELT(1 + i % 3, 'CN', 'DE', 'NO'), i % 10 <> 0 FROM n;
CREATE TABLE shop_3.orders_1 (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer   BIGINT NOT NULL,
  amount     DECIMAL(12, 2) NOT NULL,
  note       VARCHAR(200),
  created_at DATETIME(3) NOT NULL
);
INSERT INTO shop_3.orders_1 (customer, amount, note, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT 1 + i % 97, i * 1.25, IF(i % 5 = 0, NULL, CONCAT('order ', i, ' ✓')), '2026-01-01' + INTERVAL i MINUTE FROM n;
CREATE TABLE shop_3.customers_1 (
  id      BIGINT NOT NULL PRIMARY KEY,
  name    VARCHAR(100) NOT NULL,
  country CHAR(2) NOT NULL,
  active  TINYINT(1) NOT NULL
);
INSERT INTO shop_3.customers_1
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 97)
SELECT i, CONCAT('customer ', i), ELT(1 + i % 3, 'CN', 'DE', 'NO'), i % 10 <> 0 FROM n;

CREATE DATABASE shop_4 CHARACTER SET utf8mb4;
GRANT SELECT, LOCK TABLES ON shop_4.* TO 'tributary'@'%';
CREATE TABLE shop_4.orders_0 (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer   BIGINT NOT NULL,
  amount     DECIMAL(12, 2) NOT NULL,
  note       VARCHAR(200),
  created_at DATETIME(3) NOT NULL
);
INSERT INTO shop_4.orders_0 (customer, amount, note, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT 1 + i % 97, i * 1.25, IF(i % 5 = 0, NULL, CONCAT('order ', i, ' ✓')), '2026-01-01' + INTERVAL i MINUTE FROM n;
CREATE TABLE shop_4.customers_0 (
  id      BIGINT NOT NULL PRIMARY KEY,
  name    VARCHAR(100) NOT NULL,
  country CHAR(2) NOT NULL,
  active  TINYINT(1) NOT NULL
);
INSERT INTO shop_4.customers_0
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 97)
SELECT i, CONCAT('customer ', i), ELT(1 + i % 3, 'CN', 'DE', 'NO'), i % 10 <> 0 FROM n;
CREATE TABLE shop_4.orders_1 (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer   BIGINT NOT NULL,
  amount     DECIMAL(12, 2) NOT NULL,
  note       VARCHAR(200),
  created_at DATETIME(3) NOT NULL
);
INSERT INTO shop_4.orders_1 (customer, amount, note, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT 1 + i % 97, i * 1.25, IF(i % 5 = 0, NULL, CONCAT('order ', i, ' ✓')), '2026-01-01' + INTERVAL i MINUTE FROM n;
CREATE TABLE shop_4.customers_1 (
  id      BIGINT NOT NULL PRIMARY KEY,
  name    VARCHAR(100) NOT NULL,
  country CHAR(2) NOT NULL,
  active  TINYINT(1) NOT NULL
);
INSERT INTO shop_4.customers_1
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 97)
SELECT i, CONCAT('customer ', i), ELT(1 + i % 3, 'CN', 'DE', 'NO'), i % 10 <> 0 FROM n;

GRANT REPLICATION CLIENT, REPLICATION SLAVE ON *.* TO 'tributary'@'%';
