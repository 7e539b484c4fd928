import BenchHarness
import BenchStores

/// Replication between processes, over TLS on the loopback device.
enum ShippingWorkload {
    static var workload: Workload {
        Workload(
            "shipping", "100,000 documents of about 250 bytes, from process to process over TLS",
            cases: [
                Case(
                    "first-sync", "first sync until an observer reports the last document",
                    unit: "documents/s", .higher,
                    systems: [
                        sheaf(ShippingTrial.firstSync),
                        System("sqlite-session") { try SQLiteSessionTrial($0) },
                    ]),
                Case(
                    "first-sync-bytes", "bytes in both directions, TLS handshake included",
                    unit: "bytes/document", .lower, systems: [sheaf(ShippingTrial.firstSyncBytes)]),
                Case(
                    "update-bytes", "replicate one changed field, in commits of 1,000 documents",
                    unit: "bytes/document", .lower, systems: [sheaf(ShippingTrial.updateBytes)]),
                Case(
                    "live-latency", "latency from a write to an observer on another peer",
                    unit: "µs", .lower, hasLatencies: true,
                    systems: latency(ShippingTrial.liveLatency)),
                Case(
                    "resubscribe-bytes", "bytes of reconnecting without changes, with handshake",
                    unit: "bytes", .lower, systems: [sheaf(ShippingTrial.resubscribeBytes)]),
                Case(
                    "difference-bytes", "bytes per JSON byte to reconcile 1,000 changed documents",
                    unit: "times", .lower, systems: [sheaf(ShippingTrial.differenceBytes)]),
                Case(
                    "limited-connection",
                    "connection of a restarted peer that may read 1,000 of 1,000,000 documents",
                    unit: "ms", .lower,
                    systems: [
                        System("sheaf") { try await ConnectionTrial($0, isLimited: true) },
                        System("all-rights") { try await ConnectionTrial($0, isLimited: false) },
                        System("sqlite") { try ConditionScanTrial($0) },
                    ]),
                Case(
                    "mesh-redundancy",
                    "documents received per new document, in a full mesh of 8",
                    unit: "times", .lower,
                    systems: [System("sheaf") { try await ShippingTrial.redundancy($0) }]),
                Case(
                    "chain-hop", "latency added by each relay in a chain of 5", unit: "µs", .lower,
                    hasLatencies: true, systems: latency(ShippingTrial.chainHop)),
            ])
    }

    private static func sheaf(
        _ prepare: @escaping (Stage) throws -> ShippingTrial
    ) -> System {
        System("sheaf") { try prepare($0) }
    }

    /// Returns the systems of a latency: peers that sleep, peers that poll, and one flush.
    private static func latency(
        _ prepare: @escaping (Stage, Int) throws -> ShippingTrial
    ) -> [System] {
        [
            System("sheaf") { try prepare($0, 0) },
            System("polling") { try prepare($0, 1_000) }, flush,
        ]
    }

    /// The system that measures one durable write to the disk.
    private static var flush: System {
        System("fdatasync") { try FlushTrial($0) }
    }
}

/// Single flushes and their median latency.
private final class FlushTrial: Trial {
    private let limit: LimitTrial

    init(_ stage: Stage) throws {
        limit = try LimitTrial(stage, size: 4_096, unitsPerSync: 1)
    }

    func run(round: Int) async throws -> Sample {
        let sample = try await limit.run(round: round)
        return Sample(FanoutTrial.median(sample.latencies), latencies: sample.latencies)
    }

    func finish() { limit.finish() }
}
