package import SheafBytes

extension PeerRecord {
    /// An address and a port on which a peer accepts connections from other machines.
    package struct Address: Hashable, Sendable, Comparable {
        /// The bytes of the IP address, 4 or 16, the most significant first.
        package let bytes: [UInt8]
        package let port: UInt16

        /// Creates an address; returns nil if it is none of a single host that others can reach.
        package init?(_ bytes: [UInt8], port: UInt16) {
            guard port > 0, Self.isReachable(bytes) else { return nil }
            self.bytes = bytes
            self.port = port
        }

        /// Whether an address is valid beyond its host and its link.
        private static func isReachable(_ bytes: [UInt8]) -> Bool {
            switch bytes.count {
            case 4:
                let isLinkLocal = bytes[0] == 169 && bytes[1] == 254
                return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224 && !isLinkLocal
            case 16:
                // Unspecified, loopback and IPv4 addresses begin with zeros.
                let isLinkLocal = bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
                return bytes[..<8].contains { $0 != 0 } && bytes[0] != 0xFF && !isLinkLocal
            default: return false
            }
        }

        package static func < (left: Address, right: Address) -> Bool {
            guard left.bytes.count == right.bytes.count else {
                return left.bytes.count < right.bytes.count
            }
            guard left.bytes == right.bytes else {
                return left.bytes.lexicographicallyPrecedes(right.bytes)
            }
            return left.port < right.port
        }
    }
}

extension ByteWriter {
    package mutating func write(_ addresses: [PeerRecord.Address]) {
        writeVarint(UInt64(addresses.count))
        for address in addresses {
            write(UInt8(address.bytes.count))
            write(address.bytes)
            write(address.port)
        }
    }
}

extension ByteReader {
    package mutating func readPeerAddresses() throws(Malformed) -> [PeerRecord.Address] {
        let offset = offset
        let count = try readVarint()
        guard count <= UInt64(PresenceLimits.addresses) else {
            throw .invalid("more than \(PresenceLimits.addresses) addresses", at: offset)
        }
        var addresses: [PeerRecord.Address] = []
        for _ in 0..<count {
            let offset = self.offset
            let length = try readUInt8()
            guard length == 4 || length == 16 else { throw .unexpected(length, at: offset) }
            let bytes = Array(try readBytes(Int(length)))
            guard let address = PeerRecord.Address(bytes, port: try readUInt16()) else {
                throw .invalid("an address that other machines cannot reach", at: offset)
            }
            guard addresses.last.map({ $0 < address }) ?? true else {
                throw .invalid("addresses out of order", at: offset)
            }
            addresses.append(address)
        }
        return addresses
    }
}
