import SheafNetwork

/// The packets of peers on one link while nothing happens.
package struct IdlePeers {
    /// The packets of all peers in each minute of an hour, from half a minute after their start.
    package let packetsPerMinute: [Int]
    /// The different numbers of peers that peers have found at the end.
    package let found: Set<Int>

    package init(_ count: Int, seed: UInt64) throws {
        let key = try DiscoveryKey.shared()
        let links = SimulatedLinks(seed: seed)
        for _ in 0..<count { links.add(key, on: [1]) }
        links.run(seconds: 30)
        packetsPerMinute = (0..<60).map { _ in
            let before = links.sent.count
            links.run(seconds: 60)
            return links.sent.count - before
        }
        found = Set(links.hosts.indices.map { links.keysFound(by: $0, key).count })
    }
}
