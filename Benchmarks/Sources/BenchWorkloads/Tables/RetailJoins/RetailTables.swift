import SheafDocument

/// The tables of a retailer: customers, orders and their items, products, returns.
struct RetailTables {
    private let orders: Int
    private let customers: Int
    private var random = RandomSource(seed: 12)

    private static let products = 2_000
    /// The number of days with orders.
    private static let days = 365

    /// Returns the tables, with a fifth of the rows if the run is quick.
    static func tables(isQuick: Bool) -> [FlatTable] {
        var maker = RetailTables(
            orders: isQuick ? 6_000 : 30_000, customers: isQuick ? 1_000 : 5_000)
        return [
            maker.makeRegions(), maker.makeCustomers(), maker.makeEmployees(),
            maker.makeSuppliers(), maker.makeProducts(), maker.makeOrders(), maker.makeItems(),
            maker.makeReturns(),
        ]
    }

    private init(orders: Int, customers: Int) {
        self.orders = orders
        self.customers = customers
    }

    private mutating func draw(_ count: Int) -> Value { .integer(Int64(random.below(count))) }

    private mutating func makeRegions() -> FlatTable {
        var table = FlatTable("regions", integers: ["_id"], texts: ["name", "country"])
        for id in 0..<20 {
            table.append(
                .integer(Int64(id)), .string("Region \(id)"),
                .string(Words.countries[id % Words.countries.count]))
        }
        return table
    }

    private mutating func makeCustomers() -> FlatTable {
        var table = FlatTable(
            "customers", integers: ["_id", "region", "since", "referrer"],
            texts: ["name", "segment"], indexes: [["region"], ["segment"], ["referrer"]])
        for id in 0..<customers {
            let name =
                "\(Words.firstNames[random.below(Words.firstNames.count)]) "
                + "\(Words.lastNames[random.below(Words.lastNames.count)]) \(id)"
            table.append(
                .integer(Int64(id)), draw(20), draw(2_000),
                random.below(4) == 0 ? draw(customers) : .null, .string(name),
                .string(["private", "business", "club"][random.below(3)]))
        }
        return table
    }

    private mutating func makeEmployees() -> FlatTable {
        var table = FlatTable(
            "employees", integers: ["_id", "region", "manager"], texts: ["name"],
            indexes: [["manager"]])
        for id in 0..<200 {
            table.append(
                .integer(Int64(id)), draw(20), id < 10 ? .null : .integer(Int64(id % 10)),
                .string("Employee \(id)"))
        }
        return table
    }

    private mutating func makeSuppliers() -> FlatTable {
        var table = FlatTable("suppliers", integers: ["_id", "region"], texts: ["name"])
        for id in 0..<100 { table.append(.integer(Int64(id)), draw(20), .string("Supplier \(id)")) }
        return table
    }

    private mutating func makeProducts() -> FlatTable {
        var table = FlatTable(
            "products", integers: ["_id", "supplier", "price"], texts: ["name", "department"],
            indexes: [["supplier"], ["department"]])
        for id in 0..<Self.products {
            table.append(
                .integer(Int64(id)), draw(100), .integer(Int64(100 + random.below(10_000))),
                .string("\(Words.goods[id % Words.goods.count]) \(id)"),
                .string(Words.departments[random.below(Words.departments.count)]))
        }
        return table
    }

    private mutating func makeOrders() -> FlatTable {
        var table = FlatTable(
            "orders", integers: ["_id", "customer", "employee", "day", "shipped"],
            texts: ["channel"], indexes: [["customer", "day"], ["employee"], ["day"]])
        for id in 0..<orders {
            let day = random.below(Self.days)
            table.append(
                .integer(Int64(id)), draw(customers), draw(200), .integer(Int64(day)),
                random.below(12) == 0 ? .null : .integer(Int64(day + random.below(14))),
                .string(["web", "store", "phone"][random.below(3)]))
        }
        return table
    }

    private mutating func makeItems() -> FlatTable {
        var table = FlatTable(
            "items", key: ["sale", "line"],
            integers: ["sale", "line", "product", "quantity", "price"],
            indexes: [["product"]])
        for sale in 0..<orders {
            for line in 0...random.below(5) {
                table.append(
                    .integer(Int64(sale)), .integer(Int64(line)), draw(Self.products),
                    .integer(Int64(1 + random.below(9))),
                    .integer(Int64(100 + random.below(10_000))))
            }
        }
        return table
    }

    private mutating func makeReturns() -> FlatTable {
        var table = FlatTable(
            "returns", integers: ["_id", "sale", "line", "day"], texts: ["reason"],
            indexes: [["sale"]])
        for id in 0..<orders / 10 {
            table.append(
                .integer(Int64(id)), draw(orders), draw(3), draw(Self.days),
                .string(["damaged", "late", "wrong", "unwanted"][random.below(4)]))
        }
        return table
    }
}
