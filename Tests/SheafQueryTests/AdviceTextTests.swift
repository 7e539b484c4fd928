import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// Index suggestions for collections and fields with arbitrary names.
@Suite struct AdviceTextTests {
    @Test(arguments: 0..<400 as Range<UInt64>)
    func `a suggested statement parses into the suggested index`(_ seed: UInt64) throws {
        var tree = RandomTree(seed: seed)
        let text = statement(&tree)
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        let advice = try QueryRun(try Parser.parse(text), on: EmptyStore(), options).advice()
        let row = try #require(advice.rows.items.first).object(NameTable())
        guard advice.rows.items.count == 1, case .object(let answer)? = row["advice"],
            case .array(let suggestions)? = answer["suggestedIndexes"]
        else {
            Issue.record("seed \(seed): \(row)")
            return
        }
        #expect(suggestions.count == advice.indexes.count)
        for (suggestion, index) in zip(suggestions, advice.indexes) {
            guard case .object(let object) = suggestion,
                case .string(let suggested)? = object["statement"],
                case .createIndex(let parsed) = try Parser.parse(suggested).body
            else {
                Issue.record("seed \(seed): \(row)")
                continue
            }
            #expect(parsed.name.text == index.name.text, "seed \(seed)")
            #expect(parsed.collection.text == index.collection.text, "seed \(seed)")
            #expect(parsed.fields.map(\.path.names) == index.fields.map(\.path.names), "\(seed)")
            #expect(parsed.fields.map(\.isDescending) == index.fields.map(\.isDescending))
            #expect(!parsed.allowsExisting)
        }
        let names = advice.indexes.map { "\($0.collection.text) \($0.name.text)" }
        #expect(Set(names).count == names.count, "seed \(seed)")
    }

    /// Returns an ADVISE statement with random conditions, order and limit.
    private func statement(_ tree: inout RandomTree) -> String {
        let nowhere = SourceRange(0, 0)
        func path(_ tree: inout RandomTree) -> Expression {
            Expression(.path(tree.path().names), at: nowhere)
        }
        func condition(_ tree: inout RandomTree) -> Expression {
            let value = Expression(.literal(tree.value()), at: nowhere)
            let operation: ComparisonOperator = tree.pick([.equal, .equal, .less, .greater])
            return Expression(.comparison(operation, path(&tree), value), at: nowhere)
        }
        let conditions = tree.list(1...4, condition)
        var select = Select(
            columns: [.all(qualifier: nil, at: nowhere)], source: Source(tree.name()))
        let isAll = tree.random.chance(2, in: 3)
        select.condition =
            conditions.count == 1
            ? conditions[0] : Expression(isAll ? .and(conditions) : .or(conditions), at: nowhere)
        let terms = tree.list(0...2) {
            OrderTerm(path(&$0), isDescending: $0.random.chance(1, in: 2))
        }
        let limit = tree.maybe { _ in Expression(.literal(3), at: nowhere) }
        select.ordering = Ordering(terms: terms, limit: limit)
        let body = Statement.Body.advise(.select(select), isProvisioning: false)
        return Statement(text: "", body: body, directives: [], parameters: []).description
    }
}
