import SheafMesh
import SheafTestSupport
import Testing

/// A random mesh of each kind in each run; `sheaf-check mesh` runs more, also in `.ci/run`.
@Suite struct MeshTests {
    @Test func `peers that write, crash and disconnect eventually agree and stop sending`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("meshes, seed \(seed)")
        try MeshSimulation(seed: seed).run()
    }

    @Test func `files that peers fetch arrive, and then no message about them is sent`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("meshes with files, seed \(seed)")
        try MeshSimulation(seed: seed, sharesFiles: true).run()
    }

    @Test func `hubs that are killed lose nothing acknowledged, and agree with all clients`() throws
    {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("hubs, seed \(seed)")
        try HubSimulation(seed: seed, hubs: 1 + Int(seed % 4)).run()
    }

    /// A hub is cut off, so that others count it as silent, and one of them is opened again.
    @Test func `a hub that is opened again reads what a silent author had not finished`() throws {
        try HubSimulation(seed: 77_148, hubs: 4).run()
    }

    /// Runs a few random inputs; the fuzzer runs more (`Tests/Fuzzing/run --sessions`).
    @Test func `a peer handles any input, or closes the connection with a reason`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("sessions, seed \(seed)")
        var random = SeededRandom(seed: seed, "conversations")
        for _ in 0..<100 {
            var input = [UInt8(random.below(8))]
            for _ in 0..<1 + random.below(8) {
                // Most bodies begin with a generation.
                let body = [UInt8(random.below(3))] + random.bytes(random.below(12))
                input += [UInt8(random.below(26)), UInt8(body.count), 0] + body
            }
            let wrong = try input.withUnsafeBytes { try ReplicatorProbe.read($0) }
            #expect(wrong == nil, "\(input)")
        }
    }
}
