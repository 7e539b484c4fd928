import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// States that plain edits lead to without a delta, compared with the join of their delta.
@Suite struct PlainReplacementTests {
    private static let fields = ["a", "b", "c", "d", "e", "f0", "f1", "f2"]

    private func stamp(_ time: UInt64, _ site: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: site))
    }

    /// Returns a value that is neither long nor nested.
    private func plainValue(_ random: inout RandomValue) -> Value {
        switch random.random.below(4) {
        case 0: .integer(Int64(bitPattern: random.random.next()) >> Int64(random.random.below(64)))
        case 1: .float(RandomValue.floats[random.random.below(RandomValue.floats.count)])
        case 2: .string(random.string())
        default: [.null, true, false][random.random.below(3)]
        }
    }

    /// Returns an edit, which needs a delta in some cases unless `isPlain`.
    private func edit(_ random: inout RandomValue, isPlain: Bool) -> Edit {
        let path = [Self.fields[random.random.below(Self.fields.count)]]
        switch isPlain ? 6 : random.random.below(12) {
        case 0: return .unset(path: path)
        case 1: return .set(path: path + ["x"], to: .integer(1))
        case 2: return .increment(path: path, by: .integer(1))
        case 3: return .set(path: path, to: ["x": 1])
        case 4: return .set(path: path, to: .string(String(repeating: "0", count: 64)))
        case 5: return .set(path: ["a name without a number"], to: 1)
        default: return .set(path: path, to: plainValue(&random))
        }
    }

    @Test(arguments: [UInt64](1...6))
    func `replaced values equal those of a joined delta`(_ seed: UInt64) throws {
        var random = RandomValue(seed: seed, "replacement")
        let names = try #require(NameTable(Self.fields))
        var memory = PlainReplacement()
        var count = 0
        for round in 0..<300 {
            let isPlain = random.random.chance(2, in: 3)
            var object = isPlain ? Object() : random.object(depth: 2)
            for field in Self.fields where random.random.chance(1, in: 2) {
                object[field] = isPlain ? plainValue(&random) : random.value(depth: 1)
            }
            var document = BytesDocument(
                random.random.chance(1, in: 8)
                    ? try Insertion.initial(object, names)
                    : try Insertion.document(object, at: stamp(5, 1), names), names)
            for step in 0..<UInt64(random.random.below(5)) {
                let edits = (0..<1 + random.random.below(3)).map { _ in
                    edit(&random, isPlain: isPlain)
                }
                document.apply(edits, stamp: stamp(10 + step, 1 + step % 3))
            }
            let edits = (0..<1 + random.random.below(4)).map { _ in edit(&random, isPlain: isPlain)
            }
            // A stamp that the document covers is left to the join.
            let next = stamp(
                UInt64(4 + random.random.below(40)), UInt64(1 + random.random.below(4)))
            let state = try #require(document.bytes)
            let replaced = try state.withUnsafeBytes {
                try memory.state(after: edits, in: $0, at: next, names)
            }
            guard let replaced else { continue }
            count += 1
            let delta = try #require(document.delta(edits, stamp: next))
            let joined = try state.withUnsafeBytes { state in
                try delta.withUnsafeBytes { delta in
                    let document = try EncodedDocument(state)
                    return try Join.join(
                        document, EncodedDocument(delta), names, base: document.vector())
                }
            }
            #expect(replaced == joined, "seed \(seed), round \(round)")
        }
        #expect(count > 60, "seed \(seed), \(count) replacements")
    }

    @Test func `values that a delta must change are left to it`() throws {
        let names = try #require(NameTable(Self.fields))
        var memory = PlainReplacement()
        func replaced(_ state: [UInt8], _ edits: [Edit]) throws -> [UInt8]? {
            try state.withUnsafeBytes {
                try memory.state(after: edits, in: $0, at: stamp(20, 2), names)
            }
        }
        let plain = try Insertion.document(["a": 1, "b": ["x": 1]], at: stamp(5, 1), names)
        let seed = try Insertion.initial(["a": 1], names)
        #expect(try replaced(plain, [.set(path: ["a"], to: 2)]) != nil)
        #expect(try replaced(plain, []) == nil)
        #expect(try replaced(plain, [.set(path: ["b"], to: 2)]) == nil)
        #expect(try replaced(plain, [.set(path: ["new"], to: 2)]) == nil)
        #expect(try replaced(plain, [.set(path: ["a"], to: ["y": 2])]) == nil)
        #expect(try replaced(plain, [.set(path: ["a"], to: 2, as: .attachment)]) == nil)
        #expect(try replaced(plain, [.set(path: ["a"], to: 2), .set(path: ["a"], to: 3)]) == nil)
        #expect(try replaced(seed, [.set(path: ["a"], to: 2)]) == nil)
    }

    @Test func `at most eight values of 63 bytes are replaced, by a later write`() throws {
        let fields = (0..<9).map { "n\($0)" }
        let names = try #require(NameTable(fields))
        var memory = PlainReplacement()
        let state = try Insertion.document(["n0": 1], at: stamp(5, 1), names)
        func isReplaced(_ edits: [Edit], at stamp: Stamp) throws -> Bool {
            let replaced = try state.withUnsafeBytes {
                try memory.state(after: edits, in: $0, at: stamp, names)
            }
            return replaced != nil
        }
        for count in [7, 8, 9] {
            let edits = fields.prefix(count).map { Edit.set(path: [$0], to: 2) }
            let found = try isReplaced(edits, at: stamp(20, 2))
            #expect(found == (count <= 8), "\(count) edits")
        }
        for (letter, count) in [("x", 62), ("x", 63), ("x", 64), ("\u{E9}", 31), ("\u{E9}", 32)] {
            let text = String(repeating: letter, count: count)
            let found = try isReplaced([.set(path: ["n0"], to: .string(text))], at: stamp(20, 2))
            #expect(found == (text.utf8.count <= 63), "\(text.utf8.count) bytes")
        }
        for (time, site, isLater) in [
            (4, 1, false), (5, 1, false), (6, 1, true), (1, 2, true),
        ] as [(UInt64, UInt64, Bool)] {
            let found = try isReplaced([.set(path: ["n0"], to: 2)], at: stamp(time, site))
            #expect(found == isLater, "time \(time) of site \(site)")
        }
    }
}
