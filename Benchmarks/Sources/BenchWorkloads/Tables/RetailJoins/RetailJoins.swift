extension TableWorkload {
    /// Joins of two to six collections of a retailer.
    static let retailJoins = TableWorkload(
        "retail-joins", "joins over 30,000 orders with 90,000 items", queries: RetailQueries.all
    ) { RetailTables.tables(isQuick: $0) }
}

/// The queries of a retailer.
enum RetailQueries {
    static let all = selective + reports + missing

    /// Joins that begin with a few documents.
    private static let selective = [
        TableQuery(
            "items-of-order",
            """
            SELECT i._id.line, p.name, i.quantity, i.price FROM items i \
            JOIN products p ON p._id = i.product WHERE i._id.sale = :sale
            """, ["sale": .column("_id", of: "orders")]),
        TableQuery(
            "order-with-customer",
            """
            SELECT o.day, c.name, r.name AS region, e.name AS employee FROM orders o \
            JOIN customers c ON c._id = o.customer JOIN regions r ON r._id = c.region \
            JOIN employees e ON e._id = o.employee WHERE o._id = :sale
            """, ["sale": .column("_id", of: "orders")]),
        TableQuery(
            "orders-of-customer",
            """
            SELECT o._id, o.day, SUM(i.quantity * i.price) AS total FROM orders o \
            JOIN items i ON i._id.sale = o._id WHERE o.customer = :customer GROUP BY o._id, o.day
            """, ["customer": .column("_id", of: "customers")]),
        TableQuery(
            "products-of-customer",
            """
            SELECT DISTINCT p.name FROM orders o JOIN items i ON i._id.sale = o._id \
            JOIN products p ON p._id = i.product WHERE o.customer = :customer
            """, ["customer": .column("_id", of: "customers")]),
        TableQuery(
            "customers-of-product",
            """
            SELECT DISTINCT c.name FROM items i JOIN orders o ON o._id = i._id.sale \
            JOIN customers c ON c._id = o.customer WHERE i.product = :product
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "bought-together",
            """
            SELECT b.product, COUNT(*) AS n FROM items a JOIN items b ON b._id.sale = a._id.sale \
            WHERE a.product = :product AND b.product != :product GROUP BY b.product \
            ORDER BY n DESC, b.product LIMIT 10
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "orders-of-day",
            """
            SELECT o._id, c.name, o.channel FROM orders o JOIN customers c ON c._id = o.customer \
            WHERE o.day = :day
            """, ["day": .integer(0...364)]),
        TableQuery(
            "six-collections",
            """
            SELECT c.name, r.name AS region, p.name AS product, s.name AS supplier, i.quantity \
            FROM orders o JOIN customers c ON c._id = o.customer \
            JOIN regions r ON r._id = c.region JOIN items i ON i._id.sale = o._id \
            JOIN products p ON p._id = i.product JOIN suppliers s ON s._id = p.supplier \
            WHERE o.day = :day
            """, ["day": .integer(0...364)]),
        TableQuery(
            "referred-customers",
            """
            SELECT c.name, f.name AS referrer FROM customers c \
            JOIN customers f ON f._id = c.referrer WHERE c.segment = 'club'
            """),
        TableQuery(
            "team-of-manager",
            """
            SELECT e.name, m.name AS manager FROM employees m \
            JOIN employees e ON e.manager = m._id WHERE m._id < 5
            """),
        TableQuery(
            "returns-of-order",
            """
            SELECT r.reason, p.name FROM returns r JOIN items i ON i._id.sale = r.sale \
            JOIN products p ON p._id = i.product WHERE r.sale = :sale AND i._id.line = r.line
            """, ["sale": .column("sale", of: "returns")]),
    ]

    /// Joins over most documents, with groups.
    private static let reports = [
        TableQuery(
            "revenue-by-region",
            """
            SELECT r.name, SUM(i.quantity * i.price) AS revenue FROM orders o \
            JOIN customers c ON c._id = o.customer JOIN regions r ON r._id = c.region \
            JOIN items i ON i._id.sale = o._id GROUP BY r.name
            """),
        TableQuery(
            "revenue-by-department",
            """
            SELECT p.department, SUM(i.quantity * i.price) AS revenue FROM items i \
            JOIN products p ON p._id = i.product GROUP BY p.department
            """),
        TableQuery(
            "revenue-by-supplier-of-month",
            """
            SELECT s.name, SUM(i.quantity * i.price) AS revenue FROM orders o \
            JOIN items i ON i._id.sale = o._id JOIN products p ON p._id = i.product \
            JOIN suppliers s ON s._id = p.supplier WHERE o.day BETWEEN 120 AND 149 \
            GROUP BY s.name ORDER BY revenue DESC, s.name LIMIT 10
            """),
        TableQuery(
            "orders-by-segment-and-channel",
            """
            SELECT c.segment, o.channel, COUNT(*) AS n FROM orders o \
            JOIN customers c ON c._id = o.customer GROUP BY c.segment, o.channel
            """),
        TableQuery(
            "best-customers",
            """
            SELECT c._id, c.name, SUM(i.quantity * i.price) AS total FROM customers c \
            JOIN orders o ON o.customer = c._id JOIN items i ON i._id.sale = o._id \
            WHERE c.region = 7 GROUP BY c._id, c.name ORDER BY total DESC, c._id LIMIT 20
            """),
        TableQuery(
            "best-employees",
            """
            SELECT e.name, COUNT(*) AS n FROM orders o JOIN employees e ON e._id = o.employee \
            GROUP BY e.name ORDER BY n DESC, e.name LIMIT 10
            """),
        TableQuery(
            "regions-of-customer-and-supplier",
            """
            SELECT c.region, COUNT(*) AS n FROM orders o \
            JOIN customers c ON c._id = o.customer JOIN items i ON i._id.sale = o._id \
            JOIN products p ON p._id = i.product JOIN suppliers s ON s._id = p.supplier \
            WHERE s.region = c.region AND o.day < 60 GROUP BY c.region
            """),
        TableQuery(
            "returns-by-department",
            """
            SELECT p.department, r.reason, COUNT(*) AS n FROM returns r \
            JOIN items i ON i._id = {'sale': r.sale, 'line': r.line} \
            JOIN products p ON p._id = i.product GROUP BY p.department, r.reason
            """),
        TableQuery(
            "large-orders",
            """
            SELECT o._id, COUNT(*) AS n, SUM(i.price) AS total FROM orders o \
            JOIN items i ON i._id.sale = o._id WHERE o.channel = 'phone' GROUP BY o._id \
            HAVING SUM(i.price) > 40000
            """),
    ]

    /// Left joins that find what is missing.
    private static let missing = [
        TableQuery(
            "customers-without-order",
            """
            SELECT c._id, c.name FROM customers c LEFT JOIN orders o ON o.customer = c._id \
            WHERE o._id IS MISSING
            """),
        TableQuery(
            "products-never-returned",
            """
            SELECT p._id, p.name FROM products p LEFT JOIN items i ON i.product = p._id \
            LEFT JOIN returns r ON r.sale = i._id.sale AND r.line = i._id.line \
            WHERE p.department = 'Wine' GROUP BY p._id, p.name HAVING COUNT(r.reason) = 0
            """),
        TableQuery(
            "not-shipped",
            """
            SELECT o._id, c.name FROM orders o JOIN customers c ON c._id = o.customer \
            WHERE o.shipped IS MISSING AND o.day < 30
            """),
        TableQuery(
            "orders-with-returns",
            """
            SELECT o._id, r.reason FROM orders o LEFT JOIN returns r ON r.sale = o._id \
            WHERE o.day = :day
            """, ["day": .integer(0...364)]),
    ]
}
