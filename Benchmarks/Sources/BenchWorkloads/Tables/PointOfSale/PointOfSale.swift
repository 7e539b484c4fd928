extension TableWorkload {
    /// A point of sale: orders by location and day, their lines, totals and changes.
    static let pointOfSale = TableWorkload(
        "point-of-sale", "a point of sale with 20,000 orders and 60,000 lines",
        queries: PointOfSaleQueries.all
    ) { PointOfSaleTables.tables(isQuick: $0) }
}

/// The queries of a point of sale.
enum PointOfSaleQueries {
    static let all = orders + reports + changes

    private static let orders = [
        TableQuery(
            "order-by-id",
            "SELECT location, day, status, total FROM orders WHERE _id = :id",
            ["id": .column("_id", of: "orders")]),
        TableQuery(
            "lines-of-order",
            """
            SELECT _id.line, product, quantity, price FROM lines WHERE _id.sale = :id \
            ORDER BY _id.line
            """, ["id": .column("_id", of: "orders")]),
        TableQuery(
            "lines-with-names",
            """
            SELECT l._id.line, p.name, l.quantity, l.price FROM lines l \
            JOIN products p ON p._id = l.product WHERE l._id.sale = :id
            """, ["id": .column("_id", of: "orders")]),
        TableQuery(
            "line-by-id",
            "SELECT product, quantity, price FROM lines WHERE _id = {'sale': :sale, 'line': :line}",
            ["sale": .column("sale", of: "lines"), "line": .column("line", of: "lines")]),
        TableQuery(
            "open-orders",
            """
            SELECT _id, day, opened FROM orders WHERE location = :location AND status = 'open' \
            ORDER BY opened DESC, _id LIMIT 20
            """, ["location": .integer(0...9)]),
        TableQuery(
            "open-orders-with-lines",
            """
            SELECT o._id, COUNT(*) AS n, SUM(l.quantity * l.price) AS total FROM orders o \
            JOIN lines l ON l._id.sale = o._id \
            WHERE o.location = :location AND o.status = 'open' GROUP BY o._id
            """, ["location": .integer(0...9)]),
        TableQuery(
            "orders-of-day",
            """
            SELECT _id, status, total FROM orders WHERE location = :location AND day = :day \
            ORDER BY opened, _id
            """, ["location": .integer(0...9), "day": .integer(0...99)]),
        TableQuery(
            "orders-of-week",
            """
            SELECT _id, day, total FROM orders WHERE location = :location \
            AND day BETWEEN 50 AND 56
            """, ["location": .integer(0...9)]),
        TableQuery(
            "latest-orders",
            """
            SELECT _id, day, total FROM orders WHERE location = :location \
            ORDER BY day DESC, _id DESC LIMIT 10
            """, ["location": .integer(0...9)]),
        TableQuery(
            "orders-of-customer",
            "SELECT _id, day, total FROM orders WHERE customer = :customer",
            ["customer": .integer(0...999)]),
    ]

    private static let reports = [
        TableQuery(
            "total-of-day",
            """
            SELECT COUNT(*) AS n, SUM(total) AS total FROM orders WHERE location = :location \
            AND day = :day AND status = 'paid'
            """, ["location": .integer(0...9), "day": .integer(0...99)]),
        TableQuery(
            "totals-by-day",
            """
            SELECT day, COUNT(*) AS n, SUM(total) AS total FROM orders \
            WHERE location = :location AND status = 'paid' GROUP BY day
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "totals-by-location",
            """
            SELECT location, SUM(total) AS total FROM orders WHERE day = :day GROUP BY location
            """, ["day": .integer(0...99)]),
        TableQuery(
            "top-items-of-day",
            """
            SELECT p.name, SUM(l.quantity) AS n FROM orders o \
            JOIN lines l ON l._id.sale = o._id JOIN products p ON p._id = l.product \
            WHERE o.location = :location AND o.day = :day GROUP BY p.name \
            ORDER BY n DESC, p.name LIMIT 10
            """, ["location": .integer(0...9), "day": .integer(0...99)]),
        TableQuery(
            "top-items",
            """
            SELECT product, SUM(quantity) AS n FROM lines GROUP BY product \
            ORDER BY n DESC, product LIMIT 10
            """),
        TableQuery(
            "void-orders",
            "SELECT location, COUNT(*) AS n FROM orders WHERE status = 'void' GROUP BY location"),
        TableQuery(
            "discounts-of-product",
            """
            SELECT _id.sale, discount FROM lines WHERE product = :product \
            AND discount IS NOT MISSING
            """, ["product": .integer(0...999)]),
    ]

    /// Changes; repeated runs set the same values.
    private static let changes = [
        TableQuery(
            "set-quantity",
            """
            UPDATE lines SET quantity = :quantity WHERE _id = {'sale': :sale, 'line': :line}
            """,
            [
                "quantity": .integer(1...9), "sale": .column("sale", of: "lines"),
                "line": .column("line", of: "lines"),
            ]),
        TableQuery(
            "discount-lines",
            "UPDATE lines SET discount = :discount WHERE _id.sale = :sale",
            ["discount": .integer(1...50), "sale": .column("_id", of: "orders")]),
        TableQuery(
            "pay-order",
            "UPDATE orders SET status = 'paid', total = :total WHERE _id = :id",
            ["total": .integer(100...9_999), "id": .column("_id", of: "orders")]),
        TableQuery(
            "discounted-lines",
            """
            SELECT _id.sale, _id.line, quantity, discount FROM lines WHERE product = :product
            """, ["product": .integer(0...999)]),
    ]
}
