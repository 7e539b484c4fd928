import SheafTestSupport

/// First syncs that nothing interrupts.
extension FirstSync {
    /// The name of the bytes of received documents in a report.
    static let documents = "received.segment.bytes"

    /// Measures a first sync to an empty store.
    mutating func runRate() throws {
        let pair = try PeerPair(stores, receiver: "equal", isWatching: true)
        let acknowledged = try pair.waitForAcknowledgment()
        try pair.wait(for: "last document") { pair.receiver.visible >= count }
        let peak = pair.peakMemory
        let receiver = try pair.receiver.request("report", "traffic")
        let server = try pair.server.request("report", "traffic")
        let found = try pair.waitForEqualDocuments()
        documentBytes = receiver[Self.documents]
        try pair.stop()

        let start = pair.receiver.last("connected")?.at ?? 0
        let progress = pair.receiver.reports.filter { $0.event == "progress" && $0.at > start }
        let end = progress.first { $0["visible"] == count }?.at ?? acknowledged.at
        let times = [start] + progress.map(\.at).filter { $0 <= end }
        let gap = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
        figures.add("documents per second", count * 1_000_000_000 / (end - start), atLeast: 200_000)
        for (name, report) in [("server", server), ("receiver", receiver)] {
            figures.add("ms of CPU of the \(name)", report["cpu"] / 1_000_000)
        }
        figures.add("ms without a new document", gap / 1_000_000, atMost: 1_000)
        figures.add("MiB of the tree of the receiver", found["tree"] >> 20)
        figures.add("MiB of anonymous memory at its peak", peak >> 20)
        figures.add("MiB of these beside the tree", (peak - found["tree"]) >> 20, atMost: 150)
    }

    /// Makes the stores equal, unless an earlier scene has done it.
    mutating func makeEqual() throws {
        guard documentBytes == nil else { return }
        documentBytes = try syncOnce(stores)
    }

    /// Syncs the receiver `equal`; returns the bytes of the documents.
    func syncOnce(_ stores: FirstSyncStores) throws -> Int {
        let pair = try PeerPair(stores, receiver: "equal")
        _ = try pair.waitForEqualDocuments()
        let report = try pair.receiver.request("report", "traffic")
        try pair.stop()
        return report[Self.documents]
    }
}
