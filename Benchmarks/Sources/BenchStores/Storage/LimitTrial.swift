package import BenchHarness
import Glibc

/// The limit set by the disk: a loop of writes and flushes into preallocated blocks.
package final class LimitTrial: Trial {
    private static let fileSize = 64 << 20
    private let descriptor: Int32
    private let bytes: [UInt8]
    private let unitsPerSync: Int
    private let seconds: Double
    private var offset = 0

    /// Creates a synced file; a round writes `size` bytes before each flush, which count as
    /// `unitsPerSync` units of work.
    package init(_ stage: Stage, size: Int, unitsPerSync: Int) throws {
        bytes = [UInt8](repeating: 0xA5, count: size)
        self.unitsPerSync = unitsPerSync
        seconds = stage.scale.roundSeconds
        descriptor = open("\(stage.disk.path)/limit", O_RDWR | O_CREAT, 0o644)
        guard descriptor >= 0 else { throw Self.failure("open") }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for start in stride(from: 0, to: Self.fileSize, by: zeros.count) {
            guard pwrite(descriptor, zeros, zeros.count, start) == zeros.count else {
                throw Self.failure("prepare")
            }
        }
        guard fsync(descriptor) == 0 else { throw Self.failure("sync") }
    }

    package func run(round: Int) async throws -> Sample {
        var tally = CommitTally(seconds: seconds)
        try tally.repeatCommits { _ in
            if offset + bytes.count > Self.fileSize { offset = 0 }
            guard pwrite(descriptor, bytes, bytes.count, offset) == bytes.count,
                fdatasync(descriptor) == 0
            else { throw Self.failure("write") }
            offset += bytes.count
        }
        let sample = tally.sample
        // Latencies are reported only for single commits.
        return Sample(
            sample.value * Double(unitsPerSync),
            latencies: unitsPerSync == 1 ? sample.latencies : [])
    }

    package func finish() {
        close(descriptor)
    }

    private static func failure(_ attempt: String) -> StoreFailure {
        StoreFailure(description: "cannot \(attempt) the file: \(String(cString: strerror(errno)))")
    }
}
