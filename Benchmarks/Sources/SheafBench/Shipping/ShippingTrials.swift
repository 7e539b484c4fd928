import BenchHarness
import BenchStores

/// A measurement of one case with peers in separate processes.
final class ShippingTrial: Trial {
    private let peers: [ShippingProcess]
    private let work: (Int) async throws -> Sample

    private init(
        _ peers: [ShippingProcess], _ work: @escaping (Int) async throws -> Sample
    ) {
        self.peers = peers
        self.work = work
    }

    func run(round: Int) async throws -> Sample { try await work(round) }

    func finish() {
        for peer in peers { peer.end() }
    }

    static func documents(_ stage: Stage) -> Int { stage.scale.pick(100_000, quick: 20_000) }

    private static func loaded(
        _ stage: Stage, busyPollMicroseconds: Int = 0
    ) throws -> ShippingProcess {
        let peer = try ShippingProcess(
            stage, "loaded", busyPollMicroseconds: busyPollMicroseconds)
        try peer.ask("load 0 \(documents(stage))")
        return peer
    }

    // MARK: Initial sync

    /// Creates a trial of the documents per second until an observer reports the last one.
    static func firstSync(_ stage: Stage) throws -> ShippingTrial {
        let source = try loaded(stage)
        let count = documents(stage)
        return ShippingTrial([source]) { round in
            let other = try ShippingProcess(stage, "fresh-\(round)")
            defer { other.end() }
            let nanoseconds = try other.numbers("fetch \(source.address)")[0]
            return Sample(Double(count) / (Double(nanoseconds) / 1_000_000_000))
        }
    }

    /// Creates a trial of the bytes per document in both directions, TLS handshake included.
    static func firstSyncBytes(_ stage: Stage) throws -> ShippingTrial {
        let source = try loaded(stage)
        let count = documents(stage)
        return ShippingTrial([source]) { round in
            let other = try ShippingProcess(stage, "fresh-\(round)")
            defer { other.end() }
            try other.ask("fetch \(source.address)")
            return Sample(Double(try other.traffic()) / Double(count))
        }
    }

    // MARK: Changes

    /// Starts two connected peers with the same documents.
    private static func pair(
        _ stage: Stage, busyPollMicroseconds: Int = 0
    ) throws -> (ShippingProcess, ShippingProcess) {
        let source = try loaded(stage, busyPollMicroseconds: busyPollMicroseconds)
        let other = try ShippingProcess(
            stage, "other", busyPollMicroseconds: busyPollMicroseconds)
        try other.ask("fetch \(source.address)")
        try source.connect(other)
        return (source, other)
    }

    /// Creates a trial of the bytes per document with one changed field, in commits of 1,000.
    static func updateBytes(_ stage: Stage) throws -> ShippingTrial {
        let (source, other) = try pair(stage)
        let count = stage.scale.pick(20, quick: 5)
        return ShippingTrial([source, other]) { round in
            let before = try other.traffic()
            for commit in 0..<count {
                let first = commit * 1_000
                try source.ask("update \(first) \(first + 1_000) \(round * 37)")
            }
            try source.connect(other)
            return Sample(Double(try other.traffic() - before) / Double(count * 1_000))
        }
    }

    /// Creates a trial of the median microseconds from a write to an observer of another peer.
    static func liveLatency(
        _ stage: Stage, busyPollMicroseconds: Int
    ) throws -> ShippingTrial {
        let (source, other) = try pair(stage, busyPollMicroseconds: busyPollMicroseconds)
        try other.ask("observe")
        let count = stage.scale.pick(500, quick: 100)
        return ShippingTrial([source, other]) { round in
            var latencies: [UInt64] = []
            for number in 0..<count {
                latencies.append(
                    try await latency(round * count + number + 1, from: source, to: other))
            }
            return Sample(FanoutTrial.median(latencies), latencies: latencies)
        }
    }

    /// Returns the nanoseconds from a write to the observer of another peer.
    private static func latency(
        _ number: Int, from source: ShippingProcess, to other: ShippingProcess
    ) async throws -> UInt64 {
        let start = try source.numbers("write \(number)")[0]
        while true {
            for word in try other.ask("observed").split(separator: " ").dropFirst() {
                let parts = word.split(separator: ":")
                if Int(parts[0]) == number, let time = UInt64(parts[1]) { return time - start }
            }
            try await Task.sleep(nanoseconds: 200_000)
        }
    }

    /// Creates a trial of the microseconds that each relay in a chain of five adds.
    static func chainHop(_ stage: Stage, busyPollMicroseconds: Int) throws -> ShippingTrial {
        let peers = try (0..<5).map {
            try ShippingProcess(
                stage, "link-\($0)", busyPollMicroseconds: busyPollMicroseconds)
        }
        for peer in peers { try peer.ask("subscribe") }
        for (left, right) in zip(peers, peers.dropFirst()) {
            try right.ask("connect \(left.address)")
        }
        try peers[0].ask("write 0")
        for (left, right) in zip(peers, peers.dropFirst()) {
            try left.connect(right, "chain")
            try right.ask("observe")
        }
        let count = stage.scale.pick(200, quick: 50)
        return ShippingTrial(peers) { round in
            var hops: [UInt64] = []
            for number in 0..<count {
                let number = round * count + number + 1
                let start = try peers[0].numbers("write \(number)")[0]
                let first = try await receiptTime(number, by: peers[1])
                let last = try await receiptTime(number, by: peers[4])
                // The observer of the first relay may run after that of the last peer.
                let reference = max(first, start)
                hops.append(last > reference ? (last - reference) / 3 : 0)
            }
            return Sample(FanoutTrial.median(hops), latencies: hops)
        }
    }

    private static func receiptTime(_ number: Int, by peer: ShippingProcess) async throws -> UInt64
    {
        while true {
            for word in try peer.ask("observed").split(separator: " ").dropFirst() {
                let parts = word.split(separator: ":")
                if Int(parts[0]) == number, let time = UInt64(parts[1]) { return time }
            }
            try await Task.sleep(nanoseconds: 200_000)
        }
    }

    // MARK: Reconnecting

    /// Creates a trial of the bytes until a restarted peer and its neighbor have reconciled.
    static func resubscribeBytes(_ stage: Stage) throws -> ShippingTrial {
        let (source, other) = try pair(stage)
        return ShippingTrial([source, other]) { _ in
            try await reconnect(source, other) {}
            return Sample(Double(try other.traffic()))
        }
    }

    /// Creates a trial of the bytes to reconcile 1,000 changed documents, divided by their JSON.
    static func differenceBytes(_ stage: Stage) throws -> ShippingTrial {
        let (source, other) = try pair(stage)
        let total = documents(stage)
        return ShippingTrial([source, other]) { round in
            // IDs are random, so these documents are spread over the collection.
            let first = round * 1_000 % total
            let own = (first..<first + 1_000).reduce(0) {
                $0 + Cars.text(UInt64($1)).utf8.count
            }
            try await reconnect(source, other) {
                try source.ask("update \(first) \(first + 1_000) \(round * 41)")
            }
            return Sample(Double(try other.traffic()) / Double(own))
        }
    }

    /// Disconnects two peers, restarts one of them, and reconnects them.
    private static func reconnect(
        _ source: ShippingProcess, _ other: ShippingProcess, _ between: () throws -> Void
    ) async throws {
        try other.ask("disconnect \(source.address)")
        try await waitForConnections(0, other)
        try source.startAgain()
        try between()
        try other.ask("connect \(source.address)")
        try await waitForConnections(1, other)
        try source.connect(other)
    }

    private static func waitForConnections(_ count: UInt64, _ peer: ShippingProcess) async throws {
        while try peer.numbers("links") != [count] { try await Task.sleep(nanoseconds: 1_000_000) }
    }

    // MARK: Meshes

    /// Creates a trial of the documents received per new document in a full mesh of eight.
    static func redundancy(_ stage: Stage) async throws -> ShippingTrial {
        let peers = try (0..<8).map { try ShippingProcess(stage, "peer-\($0)") }
        for peer in peers { try peer.ask("subscribe") }
        for (number, peer) in peers.enumerated() {
            for other in peers[..<number] { try peer.ask("connect \(other.address)") }
        }
        for peer in peers { try await waitForConnections(7, peer) }
        let count = stage.scale.pick(1_000, quick: 200)
        return ShippingTrial(peers) { round in
            let before = try peers.map { try $0.numbers("statistics") }
            for number in 0..<count {
                let writer = peers[number % peers.count]
                try writer.ask("load \(round * count + number) \(round * count + number + 1)")
            }
            for peer in peers {
                for other in peers where other !== peer { try peer.connect(other, peer.key) }
            }
            let after = try peers.map { try $0.numbers("statistics") }
            var (received, taken) = (0.0, 0.0)
            for (before, after) in zip(before, after) {
                received += Double(after[0] - before[0])
                taken += Double(after[1] - before[1])
            }
            return Sample(received / taken)
        }
    }
}
