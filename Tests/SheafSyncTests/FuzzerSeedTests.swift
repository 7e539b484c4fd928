import SheafSync
import SheafTestSupport
import Testing

/// The initial inputs of the fuzzers (`Tests/Fuzzing/run`).
struct FuzzerSeedTests {
    @Test func `each frame type with a body has an input from the vectors`() throws {
        let script = try ProjectFile.text("Tests/Fuzzing/run")
        let vectors = try FormatVectors("sync.txt")
        let kinds = Set(vectors.names.compactMap { $0.split(separator: ".").last })
        let table = try #require(script.firstMatch(of: /FRAMES = \{([^}]*)\}/)).1
        var types: Set<UInt8> = []
        for entry in table.matches(of: /"(\w+)": \[([\d, ]+)\]/) {
            #expect(kinds.contains(entry.1), "\(entry.1)")
            types.formUnion(entry.2.split(separator: ", ").compactMap { UInt8($0) })
        }
        // The bodies of these types are empty or one number.
        let short: [FrameType] = [
            .credit, .ping, .pong, .announceOnly, .presenceAcknowledged, .historyDropped,
        ]
        #expect(types.isDisjoint(with: short.map(\.rawValue)))
        #expect(types.union(short.map(\.rawValue)) == Set(FrameType.allCases.map(\.rawValue)))
    }
}
