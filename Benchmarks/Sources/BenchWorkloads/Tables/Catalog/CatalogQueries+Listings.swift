extension CatalogQueries {
    /// Lists of products, as a page of an application shows them.
    static let listings = [
        TableQuery(
            "products-of-category",
            """
            SELECT _id, name, status FROM products WHERE category = :category \
            ORDER BY name LIMIT 50
            """, ["category": .integer(0...199)]),
        TableQuery(
            "products-of-category-page-3",
            """
            SELECT _id, name FROM products WHERE category = :category \
            ORDER BY name LIMIT 20 OFFSET 40
            """, ["category": .integer(0...199)]),
        TableQuery(
            "products-of-category-with-brand",
            """
            SELECT p._id, p.name, b.name AS brand FROM products p \
            JOIN brands b ON b._id = p.brand WHERE p.category = :category ORDER BY p.name
            """, ["category": .integer(0...199)]),
        TableQuery(
            "products-of-category-with-price",
            """
            SELECT p._id, p.name, pr.amount FROM products p \
            JOIN prices pr ON pr._id.product = p._id \
            WHERE p.category = :category AND pr._id.location = :location ORDER BY p.name
            """, ["category": .integer(0...199), "location": .integer(0...9)]),
        TableQuery(
            "products-of-department",
            """
            SELECT p._id, p.name FROM categories c JOIN products p ON p.category = c._id \
            WHERE c.department = :department AND p.status = 'active'
            """, sets: 2, ["department": .text(Words.departments)]),
        TableQuery(
            "products-of-department-with-price",
            """
            SELECT p.name, pr.amount FROM categories c JOIN products p ON p.category = c._id \
            JOIN prices pr ON pr._id.product = p._id \
            WHERE c.department = :department AND pr._id.location = :location
            """, sets: 2,
            ["department": .text(Words.departments), "location": .integer(0...9)]),
        TableQuery(
            "products-of-brand",
            "SELECT _id, name, size, unit FROM products WHERE brand = :brand ORDER BY name, _id",
            ["brand": .integer(0...299)]),
        TableQuery(
            "products-of-supplier",
            """
            SELECT p._id, p.name, c.name AS category FROM products p \
            JOIN categories c ON c._id = p.category WHERE p.supplier = :supplier
            """, ["supplier": .integer(0...99)]),
        TableQuery(
            "brands-of-category",
            """
            SELECT DISTINCT b.name FROM products p JOIN brands b ON b._id = p.brand \
            WHERE p.category = :category ORDER BY b.name
            """, ["category": .integer(0...199)]),
        TableQuery(
            "newest-seasonal",
            """
            SELECT _id, name, created FROM products WHERE status = 'seasonal' \
            AND created >= 390 ORDER BY created DESC, _id
            """),
        TableQuery(
            "name-prefix",
            "SELECT _id, name FROM products WHERE name LIKE 'Smoked Salmon%' ORDER BY name LIMIT 20"
        ),
        TableQuery(
            "name-contains",
            "SELECT _id, name FROM products WHERE name LIKE '%Olive%' AND status = 'active'"),
        TableQuery(
            "name-contains-with-price",
            """
            SELECT p.name, pr.amount FROM products p JOIN prices pr ON pr._id.product = p._id \
            WHERE p.name LIKE '%Honey 1%' AND pr._id.location = 2
            """),
        TableQuery(
            "first-by-name", "SELECT _id, name FROM products ORDER BY name LIMIT 50"),
        TableQuery(
            "page-after-name",
            "SELECT _id, name FROM products WHERE name > :name ORDER BY name LIMIT 50",
            ["name": .column("name", of: "products")]),
        TableQuery(
            "large-active",
            """
            SELECT _id, name, size FROM products WHERE status = 'active' AND size >= 1900 \
            AND unit = 'ml'
            """),
        TableQuery(
            "products-by-list",
            """
            SELECT p.name, b.name AS brand FROM products p JOIN brands b ON b._id = p.brand \
            WHERE p._id IN (:a, :b, :c, :d)
            """,
            [
                "a": .integer(0...999), "b": .integer(1_000...1_999),
                "c": .integer(2_000...2_999), "d": .integer(3_000...3_999),
            ]),
        TableQuery(
            "categories-of-department",
            """
            SELECT _id, name FROM categories WHERE department = :department ORDER BY name
            """, ["department": .text(Words.departments)]),
        TableQuery(
            "subcategories",
            """
            SELECT parent.name AS parent, c.name FROM categories parent \
            JOIN categories c ON c.parent = parent._id WHERE parent._id < 20
            """),
    ]
}
