extension CatalogQueries {
    /// Promotions, and the products in them.
    static let promotions = [
        TableQuery(
            "promotions-now",
            """
            SELECT _id, name, percent FROM promotions WHERE starts <= 400 AND ends >= 400 \
            ORDER BY percent DESC, _id
            """),
        TableQuery(
            "promotions-of-location",
            """
            SELECT m.name, m.percent, l.name AS location FROM promotions m \
            LEFT JOIN locations l ON l._id = m.location \
            WHERE m.starts <= 400 AND m.ends >= 400 AND m.location = :location
            """, ["location": .integer(0...9)]),
        TableQuery(
            "items-of-promotion",
            """
            SELECT p.name, i.special FROM promotion_items i \
            JOIN products p ON p._id = i._id.product WHERE i._id.promotion = :promotion
            """, ["promotion": .integer(0...499)]),
        TableQuery(
            "promoted-prices",
            """
            SELECT p.name, pr.amount, m.percent FROM promotions m \
            JOIN promotion_items i ON i._id.promotion = m._id \
            JOIN products p ON p._id = i._id.product JOIN prices pr ON pr._id.product = p._id \
            WHERE m.starts <= 400 AND m.ends >= 400 AND pr._id.location = :location
            """, sets: 2, ["location": .integer(0...9)]),
        TableQuery(
            "specials-below-price",
            """
            SELECT i._id.product, i.special, pr.amount FROM promotion_items i \
            JOIN prices pr ON pr._id.product = i._id.product \
            WHERE i.special IS NOT MISSING AND i.special < pr.amount AND pr._id.location = 1
            """),
        TableQuery(
            "promotions-by-category",
            """
            SELECT c.name, COUNT(*) AS n FROM promotion_items i \
            JOIN products p ON p._id = i._id.product JOIN categories c ON c._id = p.category \
            GROUP BY c.name ORDER BY n DESC, c.name LIMIT 10
            """),
        TableQuery(
            "ending-soon",
            "SELECT _id, name, ends FROM promotions WHERE ends BETWEEN 400 AND 410 ORDER BY ends, _id"
        ),
        TableQuery(
            "promotions-everywhere",
            """
            SELECT name, percent FROM promotions WHERE location IS MISSING AND ends >= 400
            """),
    ]

    /// Rows without a counterpart, and fields that are missing.
    static let missing = [
        TableQuery(
            "without-price",
            """
            SELECT p._id, p.name FROM products p LEFT JOIN prices pr ON pr._id.product = p._id \
            WHERE pr.amount IS MISSING
            """),
        TableQuery(
            "without-price-at-location",
            """
            SELECT p._id, p.name FROM products p \
            LEFT JOIN prices pr ON pr._id.product = p._id AND pr._id.location = :location \
            WHERE p.category = :category AND pr.amount IS MISSING
            """, ["category": .integer(0...199), "location": .integer(0...9)]),
        TableQuery(
            "without-price-at-location-by-id",
            """
            SELECT p._id, p.name FROM products p LEFT JOIN prices pr \
            ON pr._id = {'product': p._id, 'location': :location} \
            WHERE p.category = :category AND pr.amount IS MISSING
            """, ["category": .integer(0...199), "location": .integer(0...9)]),
        TableQuery(
            "without-stock",
            """
            SELECT p._id, p.name FROM products p LEFT JOIN stock s ON s._id.product = p._id \
            WHERE p.status = 'active' AND s.quantity IS MISSING
            """),
        TableQuery(
            "without-stock-of-brand",
            """
            SELECT p._id, p.name FROM products p LEFT JOIN stock s ON s._id.product = p._id \
            WHERE p.brand = :brand AND s.quantity IS MISSING
            """, ["brand": .integer(0...299)]),
        TableQuery(
            "without-promotion",
            """
            SELECT p._id, p.name FROM products p \
            LEFT JOIN promotion_items i ON i._id.product = p._id \
            WHERE p.category = :category AND i._id.promotion IS MISSING
            """, ["category": .integer(0...199)]),
        TableQuery(
            "without-supplier",
            "SELECT _id, name FROM products WHERE supplier IS MISSING AND category = :category",
            ["category": .integer(0...199)]),
        TableQuery(
            "discontinued-in-stock",
            """
            SELECT p._id, p.name, s.quantity FROM products p \
            JOIN stock s ON s._id.product = p._id \
            WHERE p.status = 'discontinued' AND p.discontinued < 100 AND s.quantity > 0
            """),
    ]

    /// Counts and sums over the catalog.
    static let reports = [
        TableQuery("count-products", "SELECT COUNT(*) AS n FROM products"),
        TableQuery(
            "count-by-status", "SELECT status, COUNT(*) AS n FROM products GROUP BY status"),
        TableQuery(
            "count-by-category",
            """
            SELECT c.name, COUNT(*) AS n FROM products p JOIN categories c ON c._id = p.category \
            GROUP BY c.name
            """),
        TableQuery(
            "count-by-department",
            """
            SELECT c.department, COUNT(*) AS n FROM categories c \
            JOIN products p ON p.category = c._id GROUP BY c.department ORDER BY c.department
            """),
        TableQuery(
            "largest-brands",
            """
            SELECT b.name, COUNT(*) AS n FROM products p JOIN brands b ON b._id = p.brand \
            WHERE p.status = 'active' GROUP BY b.name ORDER BY n DESC, b.name LIMIT 10
            """),
        TableQuery(
            "products-by-country",
            """
            SELECT b.country, COUNT(*) AS n, AVG(p.size) AS size FROM products p \
            JOIN brands b ON b._id = p.brand GROUP BY b.country
            """),
        TableQuery(
            "suppliers-with-few-products",
            """
            SELECT s.name, COUNT(*) AS n FROM products p JOIN suppliers s ON s._id = p.supplier \
            WHERE s.rating < 2 GROUP BY s.name HAVING COUNT(*) < 200
            """),
        TableQuery(
            "barcodes-by-kind", "SELECT kind, COUNT(*) AS n FROM barcodes GROUP BY kind"),
        TableQuery(
            "units", "SELECT DISTINCT unit FROM products"),
    ]
}
