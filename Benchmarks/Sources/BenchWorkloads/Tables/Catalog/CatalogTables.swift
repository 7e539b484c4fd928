import SheafDocument

/// The tables of a retail catalog.
struct CatalogTables {
    /// The number of locations.
    static let locations = 10
    /// The number of the day that is today; promotions and counts are around it.
    static let today = 400

    private let products: Int
    private var random = RandomSource(seed: 11)

    /// Returns the tables, with a fifth of the rows if the run is quick.
    static func tables(isQuick: Bool) -> [FlatTable] {
        var maker = CatalogTables(products: isQuick ? 4_000 : 20_000)
        let productTable = maker.makeProducts()
        let (promotions, items) = maker.makePromotions()
        return [
            maker.makeCategories(), maker.makeBrands(), maker.makeSuppliers(),
            maker.makeLocations(), productTable, maker.makeBarcodes(), maker.makePrices(),
            maker.makeStock(), promotions, items,
        ]
    }

    private init(products: Int) {
        self.products = products
    }

    private mutating func draw(_ count: Int) -> Value { .integer(Int64(random.below(count))) }

    private mutating func pick(_ texts: [String]) -> Value {
        .string(texts[random.below(texts.count)])
    }

    /// Returns a value, or null in `percent` of the cases.
    private mutating func maybe(null percent: Int, _ value: Value) -> Value {
        random.below(100) < percent ? .null : value
    }

    private func makeCategories() -> FlatTable {
        var table = FlatTable(
            "categories", integers: ["_id", "parent"], texts: ["name", "department"],
            indexes: [["parent"], ["department"]])
        for id in 0..<200 {
            let department = Words.departments[id % Words.departments.count]
            table.append(
                .integer(Int64(id)), id < 20 ? .null : .integer(Int64(id % 20)),
                .string("\(department) \(id / 20)"), .string(department))
        }
        return table
    }

    private mutating func makeBrands() -> FlatTable {
        var table = FlatTable("brands", integers: ["_id"], texts: ["name", "country"])
        for id in 0..<300 {
            table.append(
                .integer(Int64(id)), .string("Brand \(id)"), pick(Words.countries))
        }
        return table
    }

    private mutating func makeSuppliers() -> FlatTable {
        var table = FlatTable("suppliers", integers: ["_id", "rating"], texts: ["name", "city"])
        for id in 0..<100 {
            table.append(
                .integer(Int64(id)), draw(5), .string("Supplier \(id)"), pick(Words.cities))
        }
        return table
    }

    private mutating func makeLocations() -> FlatTable {
        var table = FlatTable("locations", integers: ["_id"], texts: ["name", "city", "kind"])
        for id in 0..<Self.locations {
            table.append(
                .integer(Int64(id)), .string("Store \(id)"),
                .string(Words.cities[id % Words.cities.count]),
                .string(id < 8 ? "store" : "warehouse"))
        }
        return table
    }

    private mutating func makeProducts() -> FlatTable {
        var table = FlatTable(
            "products",
            integers: ["_id", "category", "brand", "supplier", "size", "created", "discontinued"],
            texts: ["name", "unit", "status"],
            indexes: [
                ["category", "name"], ["brand"], ["supplier"], ["name"], ["status", "created"],
            ])
        for id in 0..<products {
            let name =
                "\(Words.kinds[random.below(Words.kinds.count)]) "
                + "\(Words.goods[random.below(Words.goods.count)]) \(id)"
            let supplier = maybe(null: 5, draw(100))
            let discontinued = maybe(null: 90, draw(Self.today))
            let status: Value =
                if case .null = discontinued {
                    random.below(8) == 0 ? "seasonal" : "active"
                } else {
                    "discontinued"
                }
            table.append(
                .integer(Int64(id)), draw(200), draw(300), supplier,
                .integer(Int64(50 * (1 + random.below(40)))), draw(Self.today), discontinued,
                .string(name), pick(["g", "ml", "piece"]), status)
        }
        return table
    }

    private mutating func makeBarcodes() -> FlatTable {
        var table = FlatTable(
            "barcodes", integers: ["product"], texts: ["_id", "kind"], indexes: [["product"]])
        for product in 0..<products {
            for (number, kind) in ["unit", "case"].enumerated()
            where number == 0 || product % 2 == 0 {
                let code = Int(RandomSource.mix(UInt64(product * 2 + number + 1)) % 1_000_000)
                table.append(
                    .integer(Int64(product)),
                    .string("40\(1_000_000 + code)\(100_000 + product * 2 + number)"),
                    .string(kind))
            }
        }
        return table
    }

    /// Prices of each product at half of the locations, but for one product in 50.
    private mutating func makePrices() -> FlatTable {
        var table = FlatTable(
            "prices", key: ["product", "location"],
            integers: ["product", "location", "amount", "since"], texts: ["currency"],
            indexes: [["location", "amount"]])
        for product in 0..<products where product % 50 != 7 {
            let base = 50 + random.below(5_000)
            for location in 0..<Self.locations where (product + location) % 2 == 0 {
                table.append(
                    .integer(Int64(product)), .integer(Int64(location)),
                    .integer(Int64(base + random.below(100))), draw(Self.today),
                    .string(location < 7 ? "EUR" : "CHF"))
            }
        }
        return table
    }

    /// Stock of each product at three locations, but for one product in 20.
    private mutating func makeStock() -> FlatTable {
        var table = FlatTable(
            "stock", key: ["product", "location"],
            integers: ["product", "location", "quantity", "reserved", "counted"],
            indexes: [["location", "quantity"]])
        for product in 0..<products where product % 20 != 3 {
            for number in 0..<3 {
                table.append(
                    .integer(Int64(product)),
                    .integer(Int64((product + number * 3) % Self.locations)),
                    random.below(10) == 0 ? 0 : draw(200), maybe(null: 80, draw(10)),
                    draw(Self.today))
            }
        }
        return table
    }

    private mutating func makePromotions() -> (FlatTable, items: FlatTable) {
        var table = FlatTable(
            "promotions", integers: ["_id", "percent", "starts", "ends", "location"],
            texts: ["name"], indexes: [["ends"], ["location"]])
        var items = FlatTable(
            "promotion_items", key: ["promotion", "product"],
            integers: ["promotion", "product", "special"], indexes: [["product"]])
        for id in 0..<500 {
            let start = random.below(Self.today + 100)
            table.append(
                .integer(Int64(id)), .integer(Int64(5 * (1 + random.below(10)))),
                .integer(Int64(start)), .integer(Int64(start + 7 + random.below(30))),
                maybe(null: 50, draw(Self.locations)), .string("Promotion \(id)"))
            let step = products / 8
            let first = random.below(step)
            for number in 0..<6 {
                items.append(
                    .integer(Int64(id)), .integer(Int64(first + number * step)),
                    maybe(null: 70, .integer(Int64(50 + random.below(2_000)))))
            }
        }
        return (table, items)
    }
}
