import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore
import SheafTestSupport

/// Random statements whose values are interpolated, passed by name, and written as literals.
///
/// All forms must return the same result.
package struct ArgumentDifferences {
    package struct Tally {
        package internal(set) var statements = 0
        package internal(set) var values = 0
        /// Statements with literals.
        package internal(set) var written = 0
        /// Statements that fail in all forms.
        package internal(set) var failed = 0
    }

    package private(set) var tally = Tally()
    private let seed: UInt64

    private enum Way: CaseIterable {
        case named, interpolated, mixed, written
    }

    private enum QueryOutput: Equatable {
        case rows([String], ids: [Value])
        case failure(StoreError.Reason)
    }

    package init(seed: UInt64) {
        self.seed = seed
    }

    /// A statement with parameters, and the same statement with literals.
    private struct Sample {
        var text: String
        var values: [String: Value]
        var writtenText: String
        var writtenValues: [String: Value]
    }

    /// Compares `count` statements; throws the first difference.
    package mutating func run(_ count: Int) throws {
        var simulations: [(way: Way, life: QuerySimulation)] = []
        for way in Way.allCases { simulations.append((way, try QuerySimulation(seed: seed))) }
        var random = SeededRandom(seed: seed, "arguments")
        var selects = RandomSelects(seed: seed)
        var writes = RandomWrites(seed: seed)
        while tally.statements < count {
            let isFilling = tally.statements < 10
            let isWriting = isFilling || random.chance(1, in: 5)
            let isFlushed = random.chance(1, in: 3)
            let sample =
                isWriting ? Self.sample(&writes, isFilling: isFilling) : Self.sample(&selects)
            tally.statements += 1
            tally.values += sample.values.count
            tally.written += sample.text == sample.writtenText ? 0 : 1
            try compare(sample, simulations)
            if isFlushed { for (_, simulation) in simulations { try simulation.flush() } }
        }
    }

    private static func sample(_ selects: inout RandomSelects) -> Sample {
        var copy = selects
        copy.expressions.writing = .literals
        let written = copy.select()
        selects.expressions.writing = .parameters
        let body = Statement.Body.select(selects.select())
        return sample(body, &selects.expressions, .select(written), &copy.expressions)
    }

    private static func sample(_ writes: inout RandomWrites, isFilling: Bool) -> Sample {
        func body(_ writes: inout RandomWrites) -> Statement.Body {
            isFilling ? .insert(writes.insert(isLong: false)) : writes.body(isLong: false)
        }
        var copy = writes
        copy.selects.expressions.writing = .literals
        let written = body(&copy)
        writes.selects.expressions.writing = .parameters
        let named = body(&writes)
        return sample(
            named, &writes.selects.expressions, written, &copy.selects.expressions)
    }

    private static func sample(
        _ body: Statement.Body, _ expressions: inout RandomExpressions,
        _ written: Statement.Body, _ writtenExpressions: inout RandomExpressions
    ) -> Sample {
        var sample = Sample(
            text: text(body), values: expressions.arguments, writtenText: text(written),
            writtenValues: writtenExpressions.arguments)
        // If the generators diverged, the statements differ and cannot be compared.
        if expressions.below(1 << 30) != writtenExpressions.below(1 << 30) {
            (sample.writtenText, sample.writtenValues) = (sample.text, sample.values)
        }
        return sample
    }

    private mutating func compare(
        _ sample: Sample, _ simulations: [(way: Way, life: QuerySimulation)]
    ) throws {
        let (text, values) = (sample.text, sample.values)
        var first: QueryOutput?
        for (way, simulation) in simulations {
            let answer: QueryOutput
            switch way {
            case .named:
                answer = Self.answer(DQL(verbatim: text), QueryArguments(values), simulation)
            case .interpolated:
                answer = Self.answer(Self.query(text, values), [:], simulation)
            case .mixed:
                let half = values.filter { $0.key.utf8.last.map { $0 % 2 == 0 } ?? false }
                let rest = values.filter { half[$0.key] == nil }
                answer = Self.answer(Self.query(text, half), QueryArguments(rest), simulation)
            case .written:
                answer = Self.answer(
                    DQL(verbatim: sample.writtenText), QueryArguments(sample.writtenValues),
                    simulation)
            }
            guard first ?? answer == answer else {
                throw QueryDifference(
                    "\(way): \(answer)\n  named: \(first.map { "\($0)" } ?? "")", text, values,
                    "seed \(seed), statement \(tally.statements): \(sample.writtenText)")
            }
            first = answer
        }
        if case .failure? = first { tally.failed += 1 }
    }

    private static func text(_ body: Statement.Body) -> String {
        Statement(text: "", body: body, directives: [], parameters: []).description
    }

    /// Returns the statement with its parameters replaced by interpolated values.
    private static func query(_ text: String, _ values: [String: Value]) -> DQL {
        var interpolation = DQL.StringInterpolation(
            literalCapacity: text.utf8.count, interpolationCount: values.count)
        let pieces = text.split(separator: ":p", omittingEmptySubsequences: false)
        interpolation.appendLiteral(String(pieces[0]))
        for piece in pieces.dropFirst() {
            let digits = piece.prefix { $0.isNumber }
            if let value = values["p" + digits] {
                interpolation.appendInterpolation(value)
                interpolation.appendLiteral(String(piece.dropFirst(digits.count)))
            } else {
                interpolation.appendLiteral(":p" + piece)
            }
        }
        return DQL(stringInterpolation: interpolation)
    }

    private static func answer(
        _ query: DQL, _ arguments: QueryArguments, _ simulation: QuerySimulation
    ) -> QueryOutput {
        do throws(StoreError) {
            let outcome = try simulation.run(query, arguments)
            var rows: [String] = []
            for item in outcome.items {
                rows.append(RowComparison.json(try item.object(outcome.names)))
            }
            return .rows(rows, ids: outcome.mutatedIDs)
        } catch {
            return .failure(error.reason)
        }
    }
}
