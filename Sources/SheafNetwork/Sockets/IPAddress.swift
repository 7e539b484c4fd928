/// An IPv4 or IPv6 address, without a port.
package struct IPAddress: Hashable, Sendable {
    /// Four or sixteen bytes, the most significant first.
    package let bytes: [UInt8]

    /// Creates an address; returns nil unless there are four or sixteen bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Creates an address of four or sixteen bytes.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var isIPv4: Bool { bytes.count == 4 }

    /// Whether the address is only valid on one link, which must be named to reach it.
    package var isLinkLocalIPv6: Bool {
        bytes.count == 16 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// Whether the address is one of a single host.
    package var isUnicast: Bool {
        if isIPv4 { return bytes[0] != 0 && bytes[0] < 224 }
        return bytes[0] != 0xFF && bytes.contains { $0 != 0 }
    }
}

/// An address of an interface, and the addresses that it reaches without a router.
package struct InterfaceAddress: Hashable, Sendable {
    package let address: IPAddress
    /// Number of leading bits that all addresses of the network have in common.
    package let prefixLength: Int

    package init(_ address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = min(max(prefixLength, 0), address.bytes.count * 8)
    }

    /// Whether an address is one of the network.
    package func reaches(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        for (index, byte) in other.bytes.enumerated() {
            let bits = min(max(prefixLength - 8 * index, 0), 8)
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
            if (byte ^ address.bytes[index]) & mask != 0 { return false }
        }
        return true
    }
}
