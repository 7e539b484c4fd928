import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

extension MergeRow: CustomTestStringConvertible {
    package var testDescription: String { name }
}

@Suite struct ModelTests {
    private let firstSeed: UInt64 = 3_000

    @Test(arguments: MergeRow.table)
    func `concurrent writes merge as the table specifies`(_ row: MergeRow) {
        #expect(row.failures(of: ModelDocument.self) == [])
    }

    @Test func `the join of three states does not depend on the order`() {
        for seed in firstSeed..<firstSeed + 60 {
            var history = ModelHistory(seed: seed, peers: 2 + Int(seed % 3))
            for _ in 0..<60 { _ = history.next() }
            var random = SeededRandom(seed: seed, "triples")
            for _ in 0..<40 {
                let (a, b, c) = (
                    draw(history, &random), draw(history, &random), draw(history, &random)
                )
                let joined = a.joined(with: b)
                #expect(joined == b.joined(with: a), "seed \(seed)")
                #expect(joined.joined(with: b) == joined && a.joined(with: a) == a, "seed \(seed)")
                #expect(
                    joined.joined(with: c) == a.joined(with: b.joined(with: c)), "seed \(seed)")
            }
        }
    }

    private func draw(_ history: ModelHistory, _ random: inout SeededRandom) -> ModelDocument {
        history.states[random.below(history.states.count)]
    }

    @Test func `an earlier state does not undo a write`() {
        for seed in firstSeed..<firstSeed + 60 {
            var history = ModelHistory(seed: seed, peers: 3)
            for _ in 0..<60 {
                let before = history.documents
                guard case .write(let write, let peer, _) = history.next() else { continue }
                let after = history.documents[peer]
                #expect(after.joined(with: before[peer]) == after, "seed \(seed): \(write)")
            }
        }
    }

    @Test(arguments: [
        "fields", "counters", "seeds",
    ])
    func `every short history of three peers satisfies the laws`(_ name: String) throws {
        let writes = try #require(EnumeratedWrites.all[name])
        for lags: [UInt64] in [[0, 0, 0], [3, 1, 0]] {
            var enumeration = Enumeration<ModelDocument>(
                writes, writeLimit: 2, joinLimit: 2, lags: lags)
            let report = enumeration.run()
            #expect(report.violation == nil)
            #expect(report.states > 1_000)
        }
    }

    @Test func `joining a delta equals joining the state that it leads to`() {
        var appliedCount = 0
        for seed in firstSeed..<firstSeed + 6 {
            var history = ModelHistory(seed: seed, peers: 3)
            // The states of each peer since its last join.
            var runs = [[ModelDocument]](repeating: [ModelDocument()], count: 3)
            for _ in 0..<30 {
                let step = history.next()
                let document = history.documents[step.peer]
                guard case .write = step else {
                    runs[step.peer] = [document]
                    continue
                }
                runs[step.peer].append(document)
                let run = runs[step.peer]
                let delta = ModelDelta(run[0], Array(run.dropFirst()))
                for target in history.states where target.joined(with: run[0]) == target {
                    let joined = target.joined(with: document)
                    #expect(delta.applied(to: target) == joined, "seed \(seed)")
                    appliedCount += 1
                }
            }
        }
        #expect(appliedCount > 200)
    }

    @Test func `a write without an effect is not recorded`() {
        var document = ModelDocument()
        document.insert(.of(("a", 1), ("o", ["x": 2])), stamp: stamp(1))
        let before = document
        document.apply([], stamp: stamp(2))
        document.apply([.unset(path: ["b"]), .unset(path: ["o", "y"])], stamp: stamp(2))
        document.apply([.unset(path: ["a"], parts: [.map, .counter])], stamp: stamp(2))
        document.insertDifferences(.of(("a", 1), ("o", [:])), stamp: stamp(2))
        document.insertInitial(.of(("b", 1)))
        #expect(document == before)
        document.apply([.set(path: ["a"], to: 1)], stamp: stamp(2))
        #expect(document != before && document.value == before.value)
    }

    @Test func `a dump lists the complete contents of a document`() {
        var document = ModelDocument()
        let seeds = Object.of(("a", 1), ("o", ["x": 2]))
        document.insertInitial(seeds)
        document.apply([.set(path: ["o", "x"], to: 3)], stamp: stamp(1))
        document.apply(
            [
                .unset(path: ["o"]), .restart(path: ["c/|\\\u{E9}"], with: .integer(0)),
                .increment(path: ["c/|\\\u{E9}"], by: .float(0.5)),
                .set(path: ["a"], to: "t", as: .attachment),
            ], stamp: stamp(2))
        let recorded = "|vector|1.\(Insertion.initialStamp(seeds).site.rawValue)||"
        #expect(
            document.dump.filter { $0 != recorded } == [
                #"/a|token|2.7||407400"#,
                #"/a|value|0.0||20bff0000000000000"#,
                #"/c\2f\7c\5c\c3\a9|restart|2.7||208000000000000000"#,
                #"/c\2f\7c\5c\c3\a9|sum|2.7|2.7|20bfe000000000000001"#,
                #"/o|override|||map"#,
                #"|mark|0.0||"#,
                #"|vector|2.7||"#,
            ])
        #expect(document.dump.contains(recorded))
        document.delete(stamp: stamp(3))
        #expect(document.dump == ["|deletion|3.7||", recorded, "|vector|3.7||"].sorted())
    }

    private func stamp(_ time: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: 7))
    }

    @Test func `a comparison with the model accepts the model and finds faulty documents`() {
        for seed in firstSeed..<firstSeed + 10 {
            let model = ModelComparison.difference(
                of: ModelDocument.self, seed: seed, peers: 3, steps: 25)
            #expect(model == nil)
        }
        let found = (firstSeed..<firstSeed + 10).compactMap {
            ModelComparison.difference(of: StubbornDocument.self, seed: $0, peers: 3, steps: 25)
        }
        #expect(!found.isEmpty)
    }

    /// A faulty document that ignores deletions of other peers.
    private struct StubbornDocument: MergingDocument {
        var model = ModelDocument()

        mutating func apply(_ edits: [Edit], stamp: Stamp) { model.apply(edits, stamp: stamp) }
        mutating func delete(stamp: Stamp) { model.delete(stamp: stamp) }
        mutating func insert(_ object: Object, stamp: Stamp) { model.insert(object, stamp: stamp) }
        mutating func insertDifferences(_ object: Object, stamp: Stamp) {
            model.insertDifferences(object, stamp: stamp)
        }
        mutating func insertInitial(_ object: Object) { model.insertInitial(object) }
        func joined(with other: StubbornDocument) -> StubbornDocument {
            let joined = model.joined(with: other.model)
            return joined.value == nil ? self : StubbornDocument(model: joined)
        }
        var value: Value? { model.value }
        func value(at path: [String], as part: Part) -> Value? { model.value(at: path, as: part) }
        var latestTime: HybridTime { model.latestTime }
        var dump: [String] { model.dump }
    }
}
