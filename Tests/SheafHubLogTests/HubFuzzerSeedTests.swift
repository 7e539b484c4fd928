import SheafDocument
import SheafHubLogModel
import SheafTestSupport
import Testing

/// The initial inputs of the fuzzer of hub logs (`Tests/Fuzzing/run`).
struct HubFuzzerSeedTests {
    @Test func `each structure of hubs has an input from the vectors`() throws {
        let script = try ProjectFile.text("Tests/Fuzzing/run")
        let vectors = try FormatVectors("hub.txt")
        let kinds = Set(vectors.names.compactMap { $0.split(separator: ".").last })
        let table = try #require(script.firstMatch(of: /HUB_STRUCTURES = \{([^}]*)\}/)).1
        // Groups and entries are made of several vectors.
        var structures: Set<UInt8> = [
            HubProbe.Structure.group.rawValue, HubProbe.Structure.entries.rawValue,
        ]
        for entry in table.matches(of: /"(\w+)": (\d+)/) {
            #expect(kinds.contains(entry.1), "\(entry.1)")
            structures.insert(try #require(UInt8(entry.2)))
        }
        #expect(structures == Set(HubProbe.Structure.allCases.map(\.rawValue)))
    }
}
