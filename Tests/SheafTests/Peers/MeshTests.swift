import SheafMesh
import SheafTestSupport
import Testing

/// Some meshes of each run; `sheaf-mesh` has more.
@Suite struct MeshTests {
    @Test func `peers that write, crash and part agree once it is quiet, and fall silent`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("meshes, seed \(seed)")
        for number in 0..<3 { try MeshSimulation(seed: seed + UInt64(number)).run() }
    }

    @Test func `files that anybody fetches come, and then nothing is said of them`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("meshes with files, seed \(seed)")
        for number in 0..<2 {
            try MeshSimulation(seed: seed + UInt64(number), sharesFiles: true).run()
        }
    }

    /// The fuzzer says more (`Tests/Fuzzing/run --sessions`).
    @Test func `whatever is said to a peer, it goes on or says why not`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("conversations, seed \(seed)")
        var random = SeededRandom(seed: seed, "conversations")
        for _ in 0..<100 {
            var input = [UInt8(random.below(8))]
            for _ in 0..<1 + random.below(8) {
                // Most bodies begin with a generation.
                let body = [UInt8(random.below(3))] + random.bytes(random.below(12))
                input += [UInt8(random.below(26)), UInt8(body.count), 0] + body
            }
            let wrong = try input.withUnsafeBytes { try HostProbe.read($0) }
            #expect(wrong == nil, "\(input)")
        }
    }
}
