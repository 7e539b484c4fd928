import BenchHarness
internal import SheafBytes

/// Files beside documents, and what it costs to tell them apart.
enum AttachmentsWorkload {
    static var workload: Workload {
        Workload(
            "attachments", "files beside documents",
            cases: [
                Case(
                    "sha256", "bytes in memory, hashed on one core", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { HashTrial($0) { UInt64(SHA256.hash($0)[0]) } },
                        System("xxh3") { HashTrial($0) { XXH3.hash64($0) } },
                    ]),
                Case(
                    "add", "a file becomes an attachment, durably", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { try await AttachmentTrial($0, .add) },
                        System("limit") { try await AttachmentTrial($0, .copy) },
                    ]),
                Case(
                    "read", "an attachment, chunk by chunk", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { try await AttachmentTrial($0, .read) },
                        System("limit") { try await AttachmentTrial($0, .readFile) },
                    ]),
                Case(
                    "look", "documents, asked for what they name", unit: "M/s", .higher,
                    systems: [System("sheaf") { try await LookTrial($0) }]),
            ])
    }
}

/// Hashes the same bytes again and again.
final class HashTrial: Trial {
    private let bytes: [UInt8]
    private let hash: (UnsafeRawBufferPointer) -> UInt64

    init(_ stage: Stage, _ hash: @escaping (UnsafeRawBufferPointer) -> UInt64) {
        bytes = (0..<stage.scale.pick(64 << 20, quick: 8 << 20)).map {
            UInt8(truncatingIfNeeded: $0 &* 7)
        }
        self.hash = hash
    }

    func run(round: Int) -> Sample {
        let start = now()
        sink(bytes.withUnsafeBytes(hash))
        return Sample(Double(bytes.count) / seconds(since: start) / 1e6)
    }

    func finish() {}
}
