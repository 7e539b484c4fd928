import SheafDocument

/// A generator of random SELECT statements.
struct SelectMaker {
    var maker: DualExpressionMaker

    init(seed: UInt64) {
        maker = DualExpressionMaker(seed: seed, "reads")
    }

    mutating func select() -> DualSelect {
        maker.arguments = [:]
        var select = DualSelect()
        let collection = maker.pick(["t", "t", "t", "u"])
        addSources(collection, to: &select)
        if maker.chance(4, in: 5) { select.condition = maker.condition(maker.below(4)) }
        if maker.chance(1, in: 4) {
            addGroups(to: &select)
        } else {
            addColumns(to: &select)
            if maker.coin() {
                order(&select)
            } else if maker.chance(1, in: 4) {
                addBounds(to: &select)
            }
        }
        select.arguments = maker.arguments
        return select
    }

    // MARK: Sources

    private mutating func addSources(_ collection: String, to select: inout DualSelect) {
        let alias = maker.chance(1, in: 5) ? maker.pick(["q", "r"]) : nil
        maker.sources = [alias ?? collection]
        let text = collection + (alias.map { " AS \($0)" } ?? "")
        select.from = (text, text)
        guard maker.chance(1, in: 8) else {
            if maker.chance(1, in: 16) { addIDs(to: &select) }
            return
        }
        for number in 0...maker.below(4) / 3 { addJoin("j\(number)", to: &select) }
    }

    private mutating func addIDs(to select: inout DualSelect) {
        let ids = maker.list(1...6) { $0.literal(for: Schema.id) }
        select.from.sheaf += " USE IDS \(ids.map(\.sheaf).joined(separator: ", "))"
        select.ids = "(_id IN (\(ids.map(\.value).joined(separator: ", "))))"
    }

    private static let pairs: [(Field, Field)] = [
        (Schema.id, Schema.id), (Schema.id, Schema.field("a")), (Schema.id, Schema.field("m")),
        (Schema.field("a"), Schema.field("a")), (Schema.field("s"), Schema.field("s")),
        (Schema.field("b"), Schema.field("a")), (Schema.field("m"), Schema.field("s")),
        (Schema.field("o", "x"), Schema.field("b")), (Schema.field("a"), Schema.id),
        (Schema.field("n"), Schema.field("k")), (Schema.field("f"), Schema.field("f")),
        (Schema.field("w"), Schema.field("o", "y")),
    ]

    private mutating func addJoin(_ alias: String, to select: inout DualSelect) {
        let collection = maker.pick(Schema.collections)
        let before = maker.sources
        let (inner, outer) = maker.pick(Self.pairs)
        let own = inner.dual(of: alias, isQualified: true)
        let other = outer.dual(of: maker.pick(before), isQualified: true)
        var condition =
            maker.coin() ? DualExpression.comparison("=", own, other) : .comparison("=", other, own)
        maker.sources = before + [alias]
        if maker.chance(1, in: 3) { condition = .all([condition, maker.condition(1)]) }
        let word = maker.pick(["JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN"])
        let index = maker.chance(2, in: 3) ? " USE INDEX ''" : ""
        select.from.sheaf += " \(word) \(collection) AS \(alias)\(index) ON \(condition.sheaf)"
        // SQLite's RIGHT JOIN drops rows if a preceding join matches nothing.
        guard word == "RIGHT JOIN" else {
            select.from.sqlite += " \(word) \(collection) AS \(alias) ON \(condition.value)"
            return
        }
        let others = before.count > 1 ? "(\(select.from.sqlite))" : select.from.sqlite
        select.from.sqlite =
            "\(collection) AS \(alias) LEFT JOIN \(others) ON \(condition.value)"
    }

    // MARK: Columns

    private mutating func addColumns(to select: inout DualSelect) {
        if maker.chance(1, in: 4) {
            select.columnTexts = ["*"]
            let hasSeveral = maker.sources.count > 1
            for source in maker.sources {
                for field in Schema.all {
                    select.columns.append(
                        DualSelect.Column(
                            path: (hasSeveral ? [source] : []) + field.path,
                            dual: field.dual(of: source, isQualified: true)))
                }
            }
            return
        }
        var names: Set<String> = []
        let aliases = self.aliases(&select)
        for index in 0...maker.below(4) {
            if !select.hidesFields, maker.chance(1, in: 3) {
                let field = maker.pick(Schema.all)
                let name = field.path.last ?? ""
                guard names.insert(name).inserted else { continue }
                add(maker.field(field), named: name, isPath: true, to: &select)
            } else {
                add(maker.value(maker.below(4)), named: aliases[index], to: &select)
            }
        }
        if maker.chance(1, in: 6) {
            select.isDistinct = true
            select.isLoose = true
        }
    }

    /// Returns column aliases: `c0` and so on, or names of fields.
    private mutating func aliases(_ select: inout DualSelect) -> [String] {
        select.hidesFields = maker.chance(1, in: 6)
        guard select.hidesFields else { return (0..<4).map { "c\($0)" } }
        return ["a", "b", "s", "m"].shuffled(using: &maker.random)
    }

    private func add(
        _ twin: DualExpression, named name: String, isPath: Bool = false,
        to select: inout DualSelect
    ) {
        select.columns.append(DualSelect.Column(path: [name], dual: twin))
        select.columnTexts.append(isPath ? twin.sheaf : "\(twin.sheaf) AS \(name)")
    }

    // MARK: Order

    /// Orders rows by random keys, optionally followed by their unique IDs.
    private mutating func order(_ select: inout DualSelect) {
        if select.isDistinct {
            orderByColumns(&select)
            return
        }
        var keys: [(term: DualExpression, shown: DualExpression)] = []
        for _ in 0...maker.below(3) { keys.append(key(of: select)) }
        select.terms = keys.map { ($0.term, maker.coin()) }
        if select.columnTexts == ["*"] || maker.coin() {
            let isDescending = maker.coin()
            for source in maker.sources {
                let isQualified = maker.sources.count > 1
                select.terms.append(
                    (Schema.id.dual(of: source, isQualified: isQualified), isDescending))
            }
            select.order = .total
            addBounds(to: &select)
            return
        }
        let columns = (select.columns, select.columnTexts)
        (select.columns, select.columnTexts) = ([], [])
        for (index, key) in keys.enumerated() {
            add(key.shown, named: "k\(index)", to: &select)
        }
        select.columns += columns.0
        select.columnTexts += columns.1
        select.order = .keys(keys.count)
    }

    /// Returns a sort key, and the same expression as a column.
    private mutating func key(of select: DualSelect) -> (
        term: DualExpression, shown: DualExpression
    ) {
        guard select.hidesFields else {
            let key =
                maker.chance(3, in: 4) ? maker.field(maker.pick(Schema.all)) : maker.value(1)
            return (key, key)
        }
        if maker.coin() {
            let column = maker.pick(select.columns)
            var term = column.dual
            (term.sheaf, term.strength) = (column.path[0], .atom)
            return (term, column.dual)
        }
        // A field qualified by its source is not hidden by an alias.
        let field = maker.pick(Schema.all).dual(of: maker.pick(maker.sources), isQualified: true)
        return (field, field)
    }

    /// Orders distinct or grouped rows by all their columns.
    private mutating func orderByColumns(_ select: inout DualSelect) {
        let columns = select.columns.shuffled(using: &maker.random)
        for column in columns {
            var dual = column.dual
            let name = column.path[0]
            if select.hidesFields || name.hasPrefix("c") && maker.coin() { dual.sheaf = name }
            select.terms.append((dual, maker.coin()))
        }
        select.order = .total
        addBounds(to: &select)
    }

    /// Adds LIMIT and OFFSET; without a total order, SQLite returns all rows instead.
    private mutating func addBounds(to select: inout DualSelect) {
        guard maker.chance(2, in: 3) else { return }
        let limit = maker.pick([0, 1, 2, 3, 5, 10, 1_000])
        let offset = maker.chance(1, in: 3) ? maker.pick([0, 1, 2, 5, 100]) : nil
        select.bounds.sheaf = " LIMIT \(count(limit))"
        if let offset { select.bounds.sheaf += " OFFSET \(count(offset))" }
        if case .none = select.order {
            select.order = .some(limit: limit, offset: offset ?? 0)
        } else {
            select.bounds.sqlite = " LIMIT \(limit) OFFSET \(offset ?? 0)"
        }
    }

    private mutating func count(_ number: Int) -> String {
        maker.chance(1, in: 4) ? maker.parameter(.integer(Int64(number))) : "\(number)"
    }

    // MARK: Groups

    private mutating func addGroups(to select: inout DualSelect) {
        select.isLoose = true
        for _ in 0..<maker.below(3) {
            let key =
                maker.chance(2, in: 3) ? maker.field(maker.pick(Schema.all)) : maker.value(1)
            if !key.isConstant { select.groups.append(key) }
        }
        for (index, key) in select.groups.enumerated() where maker.chance(3, in: 4) {
            add(key, named: "c\(index)", to: &select)
        }
        let aliases = self.aliases(&select)
        for index in 0...maker.below(3) {
            let name = select.hidesFields ? aliases[index] : "cn\(index)"
            add(maker.aggregate(), named: name, to: &select)
        }
        if maker.chance(1, in: 3) { select.having = having(select.groups) }
        select.isDistinct = maker.chance(1, in: 12)
        if maker.coin() { orderByColumns(&select) }
    }

    private mutating func having(_ keys: [DualExpression]) -> DualExpression {
        let aggregate = maker.aggregate()
        let literal = maker.literal(for: maker.pick(Schema.fields))
        let one = DualExpression.comparison(maker.pick(["<", ">", "=", "!="]), aggregate, literal)
        guard let key = keys.first, maker.coin() else { return one }
        let test = DualExpression.test(maker.pick([.null, .missing]), key, isNegated: maker.coin())
        return maker.coin() ? .all([one, test]) : .any([one, test])
    }
}
