import SheafTestSupport

/// Comparisons of stores that are equal, or nearly so.
extension FirstSync {
    private static let restarts = 3

    /// Measures what two peers with equal stores need after both were closed; the most of each.
    mutating func runRestart() throws {
        try makeEqual()
        var most: [(name: String, value: Int, limit: Int?)] = []
        for _ in 0..<Self.restarts {
            let costs = try restart()
            most = most.isEmpty ? costs : zip(most, costs).map { $0.value > $1.value ? $0 : $1 }
        }
        for cost in most { figures.add(cost.name, cost.value, atMost: cost.limit) }
    }

    private func restart() throws -> [(name: String, value: Int, limit: Int?)] {
        let pair = try PeerPair(stores, receiver: "equal")
        _ = try pair.waitForAcknowledgment()
        let receiver = try pair.receiver.request("report", "traffic")
        let server = try pair.server.request("report", "traffic")
        try pair.stop()
        let bytes = receiver["bytesSent"] + receiver["bytesReceived"]
        var costs: [(name: String, value: Int, limit: Int?)] = [
            ("bytes on the connection", bytes, 1_024),
            ("bytes of TCP with TLS", receiver["wireSent"] + receiver["wireReceived"], nil),
        ]
        for (process, report) in [(pair.server, server), (pair.receiver, receiver)] {
            let before = process.last("connected")?["cpu"] ?? 0
            costs += [
                (
                    "us of CPU of the \(process.name) since the connection",
                    (report["cpu"] - before) / 1_000, 50_000
                ),
                ("us of CPU of the \(process.name) in all", report["cpu"] / 1_000, 50_000),
            ]
        }
        return costs
    }

    /// Maximum number of documents that two peers compare to find some differences.
    private static let compared = 1_000_000

    /// Measures the cost of a comparison that finds some differences.
    mutating func runDifferences() async throws {
        let compared = min(count, Self.compared)
        var stores = stores
        if compared < count {
            stores.prefix = "compared-"
            try await stores.fill(compared)
            _ = try syncOnce(stores)
        } else {
            try makeEqual()
        }
        let changes = min(100, compared)
        var random = SeededRandom(seed: seed, "differences")
        try await stores.change(changes, of: compared, &random)
        let pair = try PeerPair(stores, receiver: "equal")
        _ = try pair.waitForAcknowledgment()
        let report = try pair.receiver.request("report", "traffic")
        _ = try pair.waitForEqualDocuments()
        try pair.stop()
        let bytes = report["bytesSent"] + report["bytesReceived"]
        for (name, number) in report.numbers.sorted(by: { $0.key < $1.key })
        where name.hasSuffix(".frames") {
            let type = name.dropLast(".frames".count)
            print("differences: \(number) \(type), \(report["\(type).bytes"]) bytes")
        }
        figures.add("bytes on the connection", bytes)
        figures.add(
            "bytes beside the documents, per differing document",
            (bytes - report[Self.documents]) / changes, atMost: 100)
        figures.add(
            "round trips of the comparison", report["sent.ask.frames"], atMost: 3)
    }
}
