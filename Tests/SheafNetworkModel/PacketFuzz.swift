import SheafNetwork
import SheafTestSupport

/// Damaged packets of multicast DNS for the discovery probe, without an instrumented build.
///
/// `Tests/Fuzzing/run --discovery` finds inputs by coverage; this one tries many more.
public struct PacketFuzz {
    private let packets: [[UInt8]]
    private var random: SeededRandom

    /// Collects packets of peers that find each other, conflict, and end.
    public init(seed: UInt64) throws {
        random = SeededRandom(seed: seed, "packets")
        let key = try DiscoveryKey.shared()
        let links = SimulatedLinks(seed: seed, usesIPv6: true)
        for number in 0..<6 { links.add(key, on: [1, 2], port: number == 0 ? nil : 4_120) }
        links.run(seconds: 60)
        for number in 0..<6 { links.stop(number, saysGoodbye: true) }
        packets = links.sent.map(\.bytes)
    }

    /// Runs the probe on a number of packets; returns a description of the first broken rule.
    public mutating func run(packets count: Int) -> String? {
        var done = 0
        while done < count {
            var events: [UInt8] = []
            for _ in 0..<16 {
                let packet = damaged(packets[random.below(packets.count)])
                events.append(UInt8(random.below(200)))
                events += [UInt8(truncatingIfNeeded: packet.count), UInt8(packet.count >> 8)]
                events += packet
                if random.chance(1, in: 3) { events.append(UInt8(200 + random.below(56))) }
            }
            done += 16
            if let breach = events.withUnsafeBytes({ DiscoveryProbe.read($0) }) {
                return "\(breach), by the events \(events)"
            }
        }
        return nil
    }

    private mutating func damaged(_ packet: [UInt8]) -> [UInt8] {
        var packet = packet
        // A quarter stays intact, so that later packets meet a peer that knows others.
        for _ in 0..<random.below(4) where !packet.isEmpty {
            let index = random.below(packet.count)
            switch random.below(6) {
            case 0: packet[index] ^= 1 << UInt8(random.below(8))
            case 1: packet[index] = UInt8(truncatingIfNeeded: random.next())
            case 2: packet.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
            case 3: packet.remove(at: index)
            case 4: packet.removeLast(packet.count - index)
            default:
                let other = packets[random.below(packets.count)]
                packet = Array(packet.prefix(index) + other.dropFirst(random.below(other.count)))
            }
        }
        return packet
    }
}
