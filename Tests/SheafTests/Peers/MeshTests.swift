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
}
