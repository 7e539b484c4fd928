extension CatalogQueries {
    /// Prices by location.
    static let prices = [
        TableQuery(
            "lowest-amounts-of-location",
            """
            SELECT amount FROM prices WHERE _id.location = :location ORDER BY amount LIMIT 20
            """, ["location": .integer(0...9)]),
        TableQuery(
            "cheapest-of-location",
            """
            SELECT _id.product, amount FROM prices WHERE _id.location = :location \
            ORDER BY amount, _id.product LIMIT 20
            """, ["location": .integer(0...9)]),
        TableQuery(
            "cheapest-of-location-with-name",
            """
            SELECT p.name, pr.amount FROM prices pr JOIN products p ON p._id = pr._id.product \
            WHERE pr._id.location = :location AND pr.amount < 100
            """, ["location": .integer(0...9)]),
        TableQuery(
            "price-range-of-location",
            """
            SELECT _id.product, amount FROM prices \
            WHERE _id.location = :location AND amount BETWEEN 500 AND 600
            """, ["location": .integer(0...9)]),
        TableQuery(
            "prices-since",
            "SELECT _id.product, _id.location, amount FROM prices WHERE since >= 398"),
        TableQuery(
            "price-differences",
            """
            SELECT a._id.product, a.amount, b.amount AS other FROM prices a \
            JOIN prices b ON b._id.product = a._id.product \
            WHERE a._id.location = 2 AND b._id.location = 4 AND b.amount > a.amount + 80
            """),
        TableQuery(
            "price-differences-by-id",
            """
            SELECT a._id.product, a.amount, b.amount AS other FROM prices a \
            JOIN prices b ON b._id = {'product': a._id.product, 'location': 4} \
            WHERE a._id.location = 2 AND b.amount > a.amount + 80
            """),
        TableQuery(
            "price-span-of-category",
            """
            SELECT p._id, MIN(pr.amount) AS lowest, MAX(pr.amount) AS highest FROM products p \
            JOIN prices pr ON pr._id.product = p._id WHERE p.category = :category GROUP BY p._id
            """, ["category": .integer(0...199)]),
        TableQuery(
            "average-price-by-location",
            """
            SELECT _id.location, COUNT(*) AS n, AVG(amount) AS average FROM prices \
            GROUP BY _id.location
            """),
        TableQuery(
            "average-price-by-city",
            """
            SELECT l.city, AVG(pr.amount) AS average FROM prices pr \
            JOIN locations l ON l._id = pr._id.location GROUP BY l.city
            """),
        TableQuery(
            "average-price-by-category",
            """
            SELECT p.category, AVG(pr.amount) AS average FROM prices pr \
            JOIN products p ON p._id = pr._id.product WHERE pr._id.location = 3 \
            GROUP BY p.category
            """),
        TableQuery(
            "highest-prices-of-currency",
            """
            SELECT _id.product, _id.location, amount FROM prices WHERE currency = 'CHF' \
            ORDER BY amount DESC, _id.product, _id.location LIMIT 10
            """),
        TableQuery(
            "products-below-price-in-all",
            """
            SELECT _id.product, COUNT(*) AS n FROM prices WHERE amount < 120 \
            GROUP BY _id.product HAVING COUNT(*) = 5
            """),
    ]

    /// Stock by location.
    static let stock = [
        TableQuery(
            "stock-entry",
            """
            SELECT quantity, reserved FROM stock \
            WHERE _id = {'product': :product, 'location': :location}
            """,
            [
                "product": .column("product", of: "stock"),
                "location": .column("location", of: "stock"),
            ]),
        TableQuery(
            "out-of-stock",
            """
            SELECT p._id, p.name FROM stock s JOIN products p ON p._id = s._id.product \
            WHERE s._id.location = :location AND s.quantity = 0
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "low-stock-active",
            """
            SELECT p.name, s.quantity FROM stock s JOIN products p ON p._id = s._id.product \
            WHERE s._id.location = :location AND s.quantity < 4 AND p.status = 'active' \
            ORDER BY s.quantity, p.name
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "low-stock-by-supplier",
            """
            SELECT u.name, COUNT(*) AS n FROM stock s JOIN products p ON p._id = s._id.product \
            JOIN suppliers u ON u._id = p.supplier \
            WHERE s._id.location = :location AND s.quantity < 10 GROUP BY u.name
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "reserved-of-location",
            """
            SELECT _id.product, quantity, reserved FROM stock \
            WHERE _id.location = :location AND reserved IS NOT MISSING AND reserved > 5
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "stock-total-by-location",
            "SELECT _id.location, SUM(quantity) AS total FROM stock GROUP BY _id.location"),
        TableQuery(
            "stock-total-of-category",
            """
            SELECT p._id, SUM(s.quantity) AS total FROM products p \
            JOIN stock s ON s._id.product = p._id WHERE p.category = :category GROUP BY p._id
            """, ["category": .integer(0...199)]),
        TableQuery(
            "stock-value-of-location",
            """
            SELECT SUM(s.quantity * pr.amount) AS total FROM stock s \
            JOIN prices pr ON pr._id.product = s._id.product \
            WHERE s._id.location = :location AND pr._id.location = :location
            """, sets: 1, ["location": .integer(0...9)]),
        TableQuery(
            "not-counted-lately",
            """
            SELECT l.name, COUNT(*) AS n FROM stock s JOIN locations l ON l._id = s._id.location \
            WHERE s.counted < 40 GROUP BY l.name
            """),
        TableQuery(
            "stock-of-brand",
            """
            SELECT p.name, s._id.location, s.quantity FROM products p \
            JOIN stock s ON s._id.product = p._id WHERE p.brand = :brand AND s.quantity > 150
            """, ["brand": .integer(0...299)]),
    ]
}
