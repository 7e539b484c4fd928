import Sheaf
import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafDocumentSimulations
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The Python reader, which implements only `format-spec`, applied to stores of this engine.
@Suite struct DocumentReaderTests {
    /// Compares the documents that the Python reader prints with those of the engine.
    private func check(_ simulation: DocumentSimulation, _ comment: Comment) throws {
        let directory = TemporaryDirectory()
        try simulation.volume.export(to: directory.path("store"))
        let run = try FormatReaderRun(directory.path("store"), options: ["--documents"])
        #expect(run.status == 0, "\(run.errors)")
        let snapshot = simulation.engine.snapshot()
        var expected: [String] = []
        try snapshot.log.tree.forEach(in: StoreKey.documents) { key, _ in
            guard case .document(let collection, let id) = StoreKey(key) else { return true }
            let document = try #require(try snapshot.document(Array(key)))
            let value = try document.read { bytes in
                try EncodedDocument(bytes).value(snapshot.names)
            }
            let name = Value.string(snapshot.catalog.collections[Int(collection)])
            let shown = value.map { Value.object($0).json } ?? "tombstone"
            expected.append("document \(name) \(try DocumentID.id(of: id)) \(shown)")
            return true
        }
        let found = run.lines.filter { $0.hasPrefix("document ") }
        #expect(found == expected, comment)
        #expect(!expected.isEmpty)
    }

    @Test(
        arguments: [
            "make_document_vectors.py", "make_commit_vectors.py", "make_index_vectors.py",
            "make_sync_vectors.py", "make_network_vectors.py", "make_attachment_vectors.py",
            "make_mark_vectors.py", "make_export_vectors.py", "make_discovery_vectors.py",
            "make_hub_vectors.py",
        ])
    func `the Python encoders generate the committed vectors`(
        _ script: String
    ) throws {
        let folder = FormatVectors.directory() + "/../../Tests/FormatReader/"
        let run = try FormatReaderRun("--check", script: folder + script)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func `the Python reader and the engine read the same documents`() throws {
        for seed: UInt64 in 21_000..<21_006 {
            let simulation = try DocumentSimulation(seed: seed, clock: FakeClock())
            var random = SeededRandom(seed: seed, "reader")
            for step in 0..<60 {
                simulation.clock.advance(milliseconds: 1)
                let name = DocumentSimulation.names[random.below(DocumentSimulation.names.count)]
                try simulation.apply(Self.write(&random, step), to: name)
                if random.chance(1, in: 2) { try simulation.flush() }
                if step == 40 {
                    try simulation.flush()
                    try simulation.compact()
                }
            }
            try simulation.flush()
            try check(simulation, "seed \(seed)")
        }
    }

    /// Returns a random write with values that have only one JSON spelling.
    private static func write(_ random: inout SeededRandom, _ step: Int) -> ModelWrite {
        let path = [["a"], ["b", "x"], ["b", "y"], ["c"], ["\u{E9}\0\""]][random.below(5)]
        let values: [Value] = [1, -300, "text", true, .null, [1, "x"], ["x": 2], [:], 1.5]
        switch random.below(12) {
        case 0:
            let fields = (0..<80).map { ("key\($0)", Value.integer(Int64($0 * step))) }
            return .insert(["b": .object(Object(fields))])
        case 1: return .insert(["a": 1, "b": ["x": "y"]])
        case 2: return .delete
        case 3: return .insertInitial(["a": "seed", "b": ["z": 0]])
        case 4: return .edit([.unset(path: path)])
        case 5: return .edit([.increment(path: path, by: .integer(Int64(step)))])
        case 6: return .edit([.restart(path: path, with: .integer(3))])
        case 7: return .edit([.incrementOlder(path: path, by: .integer(2))])
        default: return .edit([.set(path: path, to: values[random.below(values.count)])])
        }
    }
}
