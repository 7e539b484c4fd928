import SheafNetwork
import Testing

/// Tests of the kinds of IP addresses, and of the networks to which they belong.
struct SocketAddressTests {
    private func address(_ bytes: [UInt8]) -> SocketAddress {
        SocketAddress(IPAddress(unchecked: bytes), port: 4_120)
    }

    /// Returns an IPv6 address with these first and last bytes, and zeros in between.
    private func long(_ first: [UInt8], _ last: [UInt8]) -> [UInt8] {
        first + [UInt8](repeating: 0, count: 16 - first.count - last.count) + last
    }

    private func mapped(_ last: [UInt8]) -> [UInt8] { long([], [255, 255] + last) }

    @Test func `the parts of an address are those that it was created from`() {
        let local = IPAddress(unchecked: long([0xFE, 0x80], [1]))
        let socket = SocketAddress(local, port: 0x1234, interface: 7)
        #expect(socket.ip == local && socket.port == 4_660 && socket.interface == 7)
        let global = IPAddress(unchecked: long([0x20, 1, 0x0D, 0xB8], [7]))
        let other = SocketAddress(global, port: 443, interface: 7)
        #expect(other.ip == global && other.port == 443 && other.interface == 0)
        #expect(other.description == "[2001:db8::7]:443")
        let short = SocketAddress(
            IPAddress(unchecked: [10, 0, 0, 1]), port: 65_535, interface: 7)
        #expect(short.ip?.bytes == [10, 0, 0, 1] && short.port == 65_535 && short.interface == 0)
        #expect(short.description == "10.0.0.1:65535")
    }

    @Test func `loopback addresses are those of this machine`() {
        let loopback: [[UInt8]] = [
            [127, 0, 0, 1], [127, 255, 255, 255], long([], [1]), mapped([127, 9, 9, 9]),
        ]
        for bytes in loopback { #expect(address(bytes).isLoopback, "\(bytes)") }
        let others: [[UInt8]] = [
            [126, 0, 0, 1], [128, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 127], long([], []),
            long([], [2]), long([], [1, 1]), long([1], [1]), mapped([128, 0, 0, 1]),
            mapped([126, 0, 0, 1]), long([], [255, 254, 127, 0, 0, 1]),
            long([], [254, 255, 127, 0, 0, 1]), long([1], [255, 255, 127, 0, 0, 1]),
            long([], [1, 255, 255, 127, 0, 0, 1]),
        ]
        for bytes in others { #expect(!address(bytes).isLoopback, "\(bytes)") }
    }

    @Test func `wildcard addresses consist of zeros`() {
        #expect(address([0, 0, 0, 0]).isWildcard && address(long([], [])).isWildcard)
        for bytes in [[0, 0, 0, 1], [1, 0, 0, 0], long([], [1]), long([1], [])] {
            #expect(!address(bytes).isWildcard, "\(bytes)")
        }
    }

    @Test func `the network of an IPv6 address is its first half`() {
        #expect(address([10, 1, 2, 3]).network == [10, 1, 2, 3])
        #expect(address(mapped([10, 1, 2, 3])).network == [10, 1, 2, 3])
        let bytes = Array(1...16 as ClosedRange<UInt8>)
        #expect(address(bytes).network == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(address(long([1], [255, 255, 1, 2, 3, 4])).network == [1, 0, 0, 0, 0, 0, 0, 0])
    }

    // MARK: Interfaces

    @Test func `an interface reaches the addresses with its first bits`() {
        for (size, lengths) in [
            (4, Array(0...32)), (16, [0, 1, 7, 8, 9, 63, 64, 65, 127, 128]),
        ] {
            let bytes = (0..<size).map { UInt8(37 * ($0 + 1) & 0xFF) }
            for length in lengths {
                let own = InterfaceAddress(IPAddress(unchecked: bytes), prefixLength: length)
                var reached: [Int] = []
                for bit in 0..<8 * size {
                    var other = bytes
                    other[bit / 8] ^= 0x80 >> UInt8(bit % 8)
                    if own.reaches(IPAddress(unchecked: other)) { reached.append(bit) }
                }
                #expect(reached == Array(length..<8 * size))
                #expect(own.reaches(IPAddress(unchecked: bytes)))
            }
        }
        let short = InterfaceAddress(IPAddress(unchecked: [10, 0, 0, 1]), prefixLength: 0)
        #expect(!short.reaches(IPAddress(unchecked: long([10, 0, 0, 1], []))))
    }

    @Test func `the length of a prefix is at most that of the address`() {
        let bytes: [UInt8] = [10, 0, 0, 1]
        let lengths = [-1, 0, 32, 33, Int.max].map {
            InterfaceAddress(IPAddress(unchecked: bytes), prefixLength: $0).prefixLength
        }
        #expect(lengths == [0, 0, 32, 32, 32])
        let wide = InterfaceAddress(IPAddress(unchecked: long([1], [])), prefixLength: 200)
        #expect(wide.prefixLength == 128)
    }

    @Test func `addresses of one host and of one link are recognized`() {
        let unicast: [[UInt8]] = [
            [1, 0, 0, 0], [223, 255, 255, 255], long([], [1]), long([0xFE], []), long([1], []),
        ]
        for bytes in unicast { #expect(IPAddress(unchecked: bytes).isUnicast, "\(bytes)") }
        for bytes in [[0, 1, 1, 1], [224, 0, 0, 1], long([], []), long([0xFF], [1])] {
            #expect(!IPAddress(unchecked: bytes).isUnicast, "\(bytes)")
        }
        for bytes in [long([0xFE, 0x80], []), long([0xFE, 0xBF], [1])] {
            #expect(IPAddress(unchecked: bytes).isLinkLocalIPv6, "\(bytes)")
        }
        let others: [[UInt8]] = [
            [0xFE, 0x80, 0, 1], long([0xFE, 0x7F], []), long([0xFE, 0xC0], []),
            long([0xFF, 0x80], []),
        ]
        for bytes in others { #expect(!IPAddress(unchecked: bytes).isLinkLocalIPv6, "\(bytes)") }
        let sizes = (0...20).filter { IPAddress([UInt8](repeating: 1, count: $0)) != nil }
        #expect(sizes == [4, 16])
        #expect(IPAddress(unchecked: [1, 2, 3, 4]).isIPv4)
        #expect(!IPAddress(unchecked: long([], [])).isIPv4)
    }
}
