import SheafMesh
import SheafStorage
import SheafTestSupport

/// A measurement of the memory that an attacker can make a peer use.
enum FloodMeasure {
    /// Maximum growth of the process, in KiB.
    private static let most = 64 << 10
    private static let frames = 120

    static func run(
        _ flood: UnknownPeerMemory.Flood, in directory: String
    ) -> Int32 {
        do {
            // The first run allocates the memory that every peer uses.
            _ = try UnknownPeerMemory.run(flood, in: MemoryVolume(), frames: 1)
            let before = ProcessMemory.kibibytes("VmRSS")
            ProcessMemory.forgetPeak()
            let volume = try PosixVolume(path: directory, creatingDirectory: true)
            let end = try UnknownPeerMemory.run(flood, in: volume, frames: frames)
            let grown = ProcessMemory.kibibytes("VmHWM") - before
            printLine("\(flood.rawValue): \(grown >> 10) MiB, \(end ?? "not ended")")
            return grown <= most ? CheckExitCode.passed : CheckExitCode.failed
        } catch {
            printLine("\(flood.rawValue): \(error)")
            return CheckExitCode.failed
        }
    }
}
