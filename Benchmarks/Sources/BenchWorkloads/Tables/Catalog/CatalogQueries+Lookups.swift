extension CatalogQueries {
    /// One product, and what belongs to it.
    static let lookups = [
        TableQuery(
            "product", "SELECT name, status, size, unit FROM products WHERE _id = :product",
            ["product": .column("_id", of: "products")]),
        TableQuery(
            "product-with-names",
            """
            SELECT p.name, b.name AS brand, c.name AS category FROM products p \
            JOIN brands b ON b._id = p.brand JOIN categories c ON c._id = p.category \
            WHERE p._id = :product
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "product-with-supplier",
            """
            SELECT p.name, s.name AS supplier, s.city FROM products p \
            LEFT JOIN suppliers s ON s._id = p.supplier WHERE p._id = :product
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "price",
            """
            SELECT amount, currency FROM prices \
            WHERE _id = {'product': :product, 'location': :location}
            """,
            [
                "product": .column("product", of: "prices"),
                "location": .column("location", of: "prices"),
            ]),
        TableQuery(
            "prices-of-product",
            "SELECT _id.location, amount, currency FROM prices WHERE _id.product = :product",
            ["product": .column("_id", of: "products")]),
        TableQuery(
            "product-with-price",
            """
            SELECT p.name, pr.amount FROM products p JOIN prices pr ON pr._id.product = p._id \
            WHERE p._id = :product AND pr._id.location = :location
            """,
            [
                "product": .column("product", of: "prices"),
                "location": .column("location", of: "prices"),
            ]),
        TableQuery(
            "product-with-price-by-id",
            """
            SELECT p.name, pr.amount FROM products p \
            JOIN prices pr ON pr._id = {'product': p._id, 'location': :location} \
            WHERE p._id = :product
            """,
            [
                "product": .column("product", of: "prices"),
                "location": .column("location", of: "prices"),
            ]),
        TableQuery(
            "product-with-prices-of-stores",
            """
            SELECT l.name, l.city, pr.amount FROM prices pr \
            JOIN locations l ON l._id = pr._id.location WHERE pr._id.product = :product
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "stock-of-product",
            """
            SELECT l.name, s.quantity, s.reserved FROM stock s \
            JOIN locations l ON l._id = s._id.location WHERE s._id.product = :product
            """, ["product": .column("_id", of: "products")]),
        TableQuery(
            "promotions-of-product",
            """
            SELECT m.name, m.percent, i.special FROM promotion_items i \
            JOIN promotions m ON m._id = i._id.promotion WHERE i._id.product = :product
            """, ["product": .column("product", of: "promotion_items")]),
        TableQuery(
            "barcode", "SELECT product, kind FROM barcodes WHERE _id = :code",
            ["code": .column("_id", of: "barcodes")]),
        TableQuery(
            "scan-barcode",
            """
            SELECT p._id, p.name, b.kind FROM barcodes b JOIN products p ON p._id = b.product \
            WHERE b._id = :code
            """, ["code": .column("_id", of: "barcodes")]),
        TableQuery(
            "scan-barcode-with-price",
            """
            SELECT p._id, p.name, pr.amount FROM barcodes b \
            JOIN products p ON p._id = b.product JOIN prices pr ON pr._id.product = p._id \
            WHERE b._id = :code AND pr._id.location = :location
            """,
            [
                "code": .column("_id", of: "barcodes"), "location": .integer(0...9),
            ]),
        TableQuery(
            "scan-barcode-with-stock",
            """
            SELECT p.name, s._id.location, s.quantity FROM barcodes b \
            JOIN products p ON p._id = b.product LEFT JOIN stock s ON s._id.product = p._id \
            WHERE b._id = :code
            """, ["code": .column("_id", of: "barcodes")]),
        TableQuery(
            "scan-barcode-complete",
            """
            SELECT p.name, br.name AS brand, c.name AS category, pr.amount, s.quantity \
            FROM barcodes b JOIN products p ON p._id = b.product \
            JOIN brands br ON br._id = p.brand JOIN categories c ON c._id = p.category \
            LEFT JOIN prices pr ON pr._id.product = p._id AND pr._id.location = :location \
            LEFT JOIN stock s ON s._id.product = p._id AND s._id.location = :location \
            WHERE b._id = :code
            """,
            [
                "code": .column("_id", of: "barcodes"), "location": .integer(0...9),
            ]),
        TableQuery(
            "barcodes-of-product", "SELECT _id, kind FROM barcodes WHERE product = :product",
            ["product": .column("_id", of: "products")]),
        TableQuery(
            "product-by-name", "SELECT _id, status FROM products WHERE name = :name",
            ["name": .column("name", of: "products")]),
        TableQuery(
            "category-with-parent",
            """
            SELECT c.name, parent.name AS parent FROM categories c \
            LEFT JOIN categories parent ON parent._id = c.parent WHERE c._id = :category
            """, ["category": .integer(0...199)]),
    ]
}
