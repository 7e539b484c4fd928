import SheafDocument

/// The tables of a point of sale.
enum PointOfSaleTables {
    private static let products = 1_000

    /// Returns the tables, with a fifth of the rows if the run is quick.
    static func tables(isQuick: Bool) -> [FlatTable] {
        var random = RandomSource(seed: 13)
        let (orders, lines) = makeOrders(isQuick ? 4_000 : 20_000, &random)
        return [makeProducts(&random), orders, lines]
    }

    private static func makeProducts(_ random: inout RandomSource) -> FlatTable {
        var table = FlatTable("products", integers: ["_id", "price"], texts: ["name"])
        for id in 0..<products {
            let good = Words.goods[random.below(Words.goods.count)]
            table.append(
                .integer(Int64(id)), .integer(Int64(50 + random.below(2_000))),
                .string("\(good) \(id)"))
        }
        return table
    }

    private static func makeOrders(
        _ count: Int, _ random: inout RandomSource
    ) -> (FlatTable, lines: FlatTable) {
        var table = FlatTable(
            "orders", integers: ["_id", "location", "day", "opened", "customer", "total"],
            texts: ["status"],
            indexes: [
                ["location", "day"], ["location", "status", "opened"], ["day"], ["customer"],
            ])
        var lines = FlatTable(
            "lines", key: ["sale", "line"],
            integers: ["sale", "line", "product", "quantity", "price", "discount"],
            indexes: [["product"]])
        for id in 0..<count {
            var total = 0
            for line in 0...random.below(5) {
                let (quantity, price) = (1 + random.below(4), 50 + random.below(2_000))
                total += quantity * price
                lines.append(
                    .integer(Int64(id)), .integer(Int64(line)),
                    .integer(Int64(random.below(products))), .integer(Int64(quantity)),
                    .integer(Int64(price)),
                    random.below(10) == 0 ? .integer(Int64(5 + random.below(20))) : .null)
            }
            let day = id * 100 / count
            let status =
                switch random.below(100) {
                case ..<(day == 99 ? 60 : 1): "open"
                case 97...: "void"
                default: "paid"
                }
            table.append(
                .integer(Int64(id)), .integer(Int64(random.below(10))), .integer(Int64(day)),
                .integer(Int64(day * 1_440 + random.below(720))),
                random.below(3) == 0 ? .integer(Int64(random.below(1_000))) : .null,
                .integer(Int64(total)), .string(status))
        }
        return (table, lines)
    }
}
