import BenchHarness
internal import SheafBytes

/// Hashing, adding and reading attachments, and scans for references to them.
enum AttachmentsWorkload {
    static var workload: Workload {
        Workload(
            "attachments", "attachments of documents",
            cases: [
                Case(
                    "sha256", "hash bytes in memory on one core", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { HashTrial($0) { UInt64(SHA256.hash($0)[0]) } },
                        System("xxh3") { HashTrial($0) { XXH3.hash64($0) } },
                    ]),
                Case(
                    "add", "add a file as an attachment, durably", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { try await AttachmentTrial($0, .add) },
                        System("limit") { try await AttachmentTrial($0, .copy) },
                    ]),
                Case(
                    "read", "read an attachment chunk by chunk", unit: "MB/s", .higher,
                    systems: [
                        System("sheaf") { try await AttachmentTrial($0, .read) },
                        System("limit") { try await AttachmentTrial($0, .readFile) },
                    ]),
                Case(
                    "scan", "scan documents for references to attachments", unit: "M/s", .higher,
                    systems: [System("sheaf") { try await ReferenceScanTrial($0) }]),
            ])
    }
}

/// Repeated hashing of the same bytes.
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
