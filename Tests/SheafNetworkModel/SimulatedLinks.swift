package import SheafNetwork
import SheafTestSupport
package import SheafTransport
import Synchronization

/// Hosts on simulated network links, with a simulated clock.
package final class SimulatedLinks {
    /// A host with one interface on each of its segments.
    package struct Host {
        package let key: PeerKey
        package var machine: DiscoveryMachine
        /// The segments of the links, by interface.
        package var segments: [UInt32: Int] = [:]
        /// The interfaces that carry no packets.
        package var silent: Set<UInt32> = []
        package var found: [AnnouncedName: DiscoveredPeer] = [:]
        package var isRunning = true
    }

    /// A packet that was sent.
    package struct Sent {
        package let time: UInt64
        package let host: Int?
        package let bytes: [UInt8]
        package let receiver: PacketSource?
        package let segment: Int

        package var message: DNSMessage {
            // A machine sends only valid packets.
            bytes.withUnsafeBytes { try? DNSMessage($0) } ?? DNSMessage()
        }
    }

    private struct Delivery {
        let due: UInt64
        let packet: Sent
        let source: PacketSource
        let isIPv4: Bool
    }

    package static let second: UInt64 = 1_000_000_000

    package private(set) var hosts: [Host] = []
    package private(set) var sent: [Sent] = []
    package private(set) var now: UInt64 = 1
    private var deliveries: [Delivery] = []
    private var random: SeededRandom
    /// Percentages of packets that are lost, and that arrive twice.
    package var (lost, repeated) = (0, 0)
    /// Maximum time until a packet arrives.
    package var delay: UInt64 = 1_000_000
    package let usesIPv6: Bool

    package init(seed: UInt64, usesIPv6: Bool = false) {
        random = SeededRandom(seed: seed, "links")
        self.usesIPv6 = usesIPv6
    }

    // MARK: Hosts

    /// Adds a host with an interface on each segment; returns its number.
    @discardableResult
    package func add(
        _ key: DiscoveryKey, on segments: [Int], port: UInt16? = 4_120,
        limits: DiscoveryMachine.Limits = DiscoveryMachine.Limits()
    ) -> Int {
        let number = hosts.count
        let peer = PeerKey(
            unchecked: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
        let source = RandomSource(random.next())
        hosts.append(
            Host(
                key: peer,
                machine: DiscoveryMachine(
                    key, peer, port: port, limits: limits, now: now, random: { source.next() })))
        for (index, segment) in segments.enumerated() {
            hosts[number].segments[UInt32(index + 1)] = segment
        }
        updateLinks(number)
        return number
    }

    /// Connects an interface of a host to a segment, or disconnects it.
    package func connect(_ host: Int, _ interface: UInt32, to segment: Int?) {
        hosts[host].segments[interface] = segment
        updateLinks(host)
    }

    /// Lets an interface carry packets, or not.
    package func setRunning(_ host: Int, _ interface: UInt32, _ isRunning: Bool) {
        if isRunning {
            hosts[host].silent.remove(interface)
        } else {
            hosts[host].silent.insert(interface)
        }
        updateLinks(host)
    }

    private func updateLinks(_ host: Int) {
        var links: [DiscoveryLink: LinkAddresses] = [:]
        for (interface, segment) in hosts[host].segments {
            let own =
                [Self.address(host, segment, isIPv4: true)]
                + (usesIPv6 ? [Self.address(host, segment, isIPv4: false)] : [])
            let addresses = LinkAddresses(
                own: own.map { InterfaceAddress($0, prefixLength: $0.isIPv4 ? 16 : 64) },
                announced: own, isRunning: !hosts[host].silent.contains(interface))
            for isIPv4 in usesIPv6 ? [true, false] : [true] {
                links[DiscoveryLink(interface: interface, isIPv4: isIPv4)] = addresses
            }
        }
        hosts[host].machine.setLinks(links, now: now)
        perform(host)
    }

    /// Stops a host, with or without a goodbye.
    package func stop(_ host: Int, saysGoodbye: Bool) {
        if saysGoodbye {
            hosts[host].machine.stop()
            perform(host)
        }
        hosts[host].isRunning = false
    }

    package func doubt(_ host: Int, _ name: AnnouncedName) {
        hosts[host].machine.doubt(name, now: now)
        perform(host)
    }

    /// The address of a host on a segment.
    package static func address(_ host: Int, _ segment: Int, isIPv4: Bool) -> IPAddress {
        let low = [UInt8(segment), UInt8((host + 1) >> 8), UInt8(truncatingIfNeeded: host + 1)]
        return IPAddress(
            unchecked: isIPv4
                ? [10] + low : [0xFE, 0x80] + [UInt8](repeating: 0, count: 11) + low)
    }

    /// The keys of the hosts that a host has found now, without repetitions.
    package func keysFound(by host: Int, _ key: DiscoveryKey) -> Set<PeerKey> {
        Set(
            hosts[host].found.values.flatMap { peer in
                hosts.map(\.key).filter { key.mark(of: $0, in: peer.name) == peer.mark }
            })
    }

    // MARK: Time and packets

    /// Sends a packet as a sender that is no host; `receivers` are all hosts of the segment.
    package func inject(
        _ bytes: [UInt8], on segment: Int, from source: PacketSource
    ) {
        deliver(
            Sent(time: now, host: nil, bytes: bytes, receiver: nil, segment: segment), source,
            isIPv4: source.address.isIPv4)
    }

    /// Lets time pass.
    package func run(seconds: Double) {
        let end = now + UInt64(seconds * Double(Self.second))
        while let next = next(), next <= end {
            now = max(now, next)
            step()
        }
        now = end
    }

    private func next() -> UInt64? {
        let timers = hosts.filter(\.isRunning).map(\.machine.deadline).min()
        return [timers, deliveries.first?.due].compactMap(\.self).min()
    }

    private func step() {
        while let delivery = deliveries.first, delivery.due <= now {
            deliveries.removeFirst()
            receive(delivery)
        }
        for host in hosts.indices where hosts[host].isRunning {
            guard hosts[host].machine.deadline <= now else { continue }
            hosts[host].machine.advance(now: now)
            perform(host)
        }
    }

    private func receive(_ delivery: Delivery) {
        let packet = delivery.packet
        for host in hosts.indices where hosts[host].isRunning {
            for (interface, segment) in hosts[host].segments.sorted(by: { $0.key < $1.key })
            where segment == packet.segment && !hosts[host].silent.contains(interface) {
                if let receiver = packet.receiver {
                    let own = Self.address(host, segment, isIPv4: delivery.isIPv4)
                    guard receiver.address == own else { continue }
                }
                let link = DiscoveryLink(interface: interface, isIPv4: delivery.isIPv4)
                packet.bytes.withUnsafeBytes {
                    hosts[host].machine.receive($0, on: link, from: delivery.source, now: now)
                }
                perform(host)
            }
        }
    }

    private func perform(_ host: Int) {
        for effect in hosts[host].machine.takeEffects() {
            switch effect {
            case .send(let bytes, let link, let receiver):
                guard let segment = hosts[host].segments[link.interface],
                    !hosts[host].silent.contains(link.interface)
                else { continue }
                let packet = Sent(
                    time: now, host: host, bytes: bytes, receiver: receiver, segment: segment)
                sent.append(packet)
                let address = Self.address(host, segment, isIPv4: link.isIPv4)
                deliver(
                    packet, PacketSource(address, port: MulticastDNS.port), isIPv4: link.isIPv4)
            case .found(let peer):
                hosts[host].found[peer.name] = peer
            case .lost(let name): hosts[host].found[name] = nil
            }
        }
    }

    private func deliver(_ packet: Sent, _ source: PacketSource, isIPv4: Bool) {
        guard !random.chance(lost, in: 100) else { return }
        for _ in 0..<(random.chance(repeated, in: 100) ? 2 : 1) {
            let due = now + 1 + random.next() % max(delay, 1)
            let delivery = Delivery(due: due, packet: packet, source: source, isIPv4: isIPv4)
            let index = deliveries.firstIndex { $0.due > due } ?? deliveries.count
            deliveries.insert(delivery, at: index)
        }
    }
}

/// Random numbers of one host.
final class RandomSource: Sendable {
    private let state: Mutex<SeededRandom>

    package init(_ seed: UInt64) {
        state = Mutex(SeededRandom(seed: seed, "host"))
    }

    package func next() -> UInt64 { state.withLock { $0.next() } }
}

extension DiscoveryKey {
    /// The key of a database with a shared key.
    package static func shared(_ byte: UInt8 = 7, database: DatabaseID = "cars") throws
        -> DiscoveryKey
    {
        try DiscoveryKey(
            Credentials(
                NetworkConfiguration(
                    databaseID: database, keyPair: PeerKeyPair.generate(),
                    identity: .sharedKey(SharedKey([UInt8](repeating: byte, count: 32))))))
    }
}
