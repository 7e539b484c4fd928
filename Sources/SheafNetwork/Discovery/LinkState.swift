/// The state of discovery on one link.
struct LinkState {
    /// The steps until a name is announced (RFC 6762, section 8).
    enum Startup {
        /// The number of probes sent, which ask whether another host has the name.
        case probing(Int, next: UInt64)
        case announcing(Int, next: UInt64)
        case done

        var next: UInt64? {
            switch self {
            case .probing(_, let next), .announcing(_, let next): next
            case .done: nil
            }
        }
    }

    /// Answers that wait, so that several queries are answered by one packet.
    struct Pending {
        var due: UInt64
        var answers: Set<DNSRecord>
        /// The only host that has asked; nil if several have.
        var source: PacketSource?
    }

    var addresses: LinkAddresses
    /// Nil if nothing is announced on this link.
    var startup: Startup?
    var nextQuestion: UInt64
    /// Time from the next question to the one after it.
    var questionPeriod = DiscoveryTimes.question
    var lastQuestion: UInt64 = 0
    /// Peers whose addresses are asked for, and when.
    var unresolved: Set<AnnouncedName> = []
    var resolving: UInt64?
    var lastResolving: UInt64 = 0
    var pending: Pending?
    /// The packets sent to all hosts, which this host receives, too.
    var echoes = Echoes()
    /// When each record was sent to all hosts.
    var sent: [DNSRecord: UInt64] = [:]

    init(_ addresses: LinkAddresses, startup: Startup?, nextQuestion: UInt64) {
        self.addresses = addresses
        self.startup = startup
        self.nextQuestion = nextQuestion
    }

    /// Whether the name is announced, so that questions are answered.
    var isAnswering: Bool {
        switch startup {
        case .announcing, .done: true
        case .probing, nil: false
        }
    }

    /// Whether other peers may know the name, which they also learn from probes.
    var isKnown: Bool {
        if case .probing(0, _)? = startup { return false }
        return startup != nil
    }

    var deadline: UInt64 {
        [startup?.next, resolving, pending?.due].compactMap(\.self).reduce(nextQuestion, min)
    }
}

/// The last packets that a host has sent to all hosts of a link.
struct Echoes {
    private static let maximumCount = 8
    private var packets: [[UInt8]] = []

    mutating func insert(_ packet: [UInt8]) {
        packets.append(packet)
        if packets.count > Self.maximumCount { packets.removeFirst() }
    }

    /// Removes a packet; returns false if it is none of them, but one of another program.
    mutating func remove(_ packet: [UInt8]) -> Bool {
        guard let index = packets.firstIndex(of: packet) else { return false }
        packets.remove(at: index)
        return true
    }
}

/// A peer that has announced itself, on each link where it has.
struct KnownPeer {
    struct Entry {
        var addresses: [IPAddress]
        let port: UInt16
        private(set) var received: UInt64
        var expires: UInt64
        /// Number of times that the peer was asked for before it expires.
        var refreshes = 0
        /// A part of the time to live, which differs between hosts.
        private(set) var jitter: UInt64

        init(
            addresses: [IPAddress], port: UInt16, received: UInt64, expires: UInt64, jitter: UInt64
        ) {
            self.addresses = addresses
            self.port = port
            self.received = received
            self.expires = expires
            self.jitter = jitter
        }

        /// Begins another time to live, near whose end the peer is asked for again.
        mutating func renew(from now: UInt64, for nanoseconds: UInt64) {
            (received, expires, refreshes, jitter) = (now, now + nanoseconds, 0, 0)
        }

        /// When the peer is asked for the next time; nil if it was asked for often enough.
        var refresh: UInt64? {
            guard refreshes < DiscoveryTimes.refreshes.count else { return nil }
            let percent = (expires - received) / 100
            return received + percent * DiscoveryTimes.refreshes[refreshes] + jitter
        }

        var deadline: UInt64 { min(refresh ?? .max, expires) }
    }

    let texts: AnnouncementTexts
    var entries: [DiscoveryLink: Entry] = [:]
    /// The addresses that were last reported.
    var reported: [DiscoveredPeer.Address] = []

    var deadline: UInt64 { entries.values.map(\.deadline).min() ?? .max }

    var addresses: [DiscoveredPeer.Address] {
        var addresses: [DiscoveredPeer.Address] = []
        for (link, entry) in entries.sorted(by: { DiscoveryLink.isBefore($0.key, $1.key) }) {
            for address in entry.addresses {
                let found = DiscoveredPeer.Address(
                    address: address, port: entry.port, interface: link.interface)
                if !addresses.contains(found) { addresses.append(found) }
            }
        }
        return addresses
    }
}
