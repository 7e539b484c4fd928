/// A network interface in one address family; each has its own socket.
package struct DiscoveryLink: Hashable, Sendable {
    /// The number of the interface.
    package let interface: UInt32
    package let isIPv4: Bool

    package init(interface: UInt32, isIPv4: Bool) {
        self.interface = interface
        self.isIPv4 = isIPv4
    }

    /// An order that does not depend on hashes.
    static func isBefore(_ left: DiscoveryLink, _ right: DiscoveryLink) -> Bool {
        (left.interface, left.isIPv4 ? 0 : 1) < (right.interface, right.isIPv4 ? 0 : 1)
    }
}

/// The addresses of the interface of a link, of both families.
package struct LinkAddresses: Hashable, Sendable {
    package var own: [InterfaceAddress]
    /// The own addresses at which this peer accepts connections; it announces no others.
    package var announced: [IPAddress]
    /// Whether the interface is operational, which the system reports after the interface is up.
    package var isRunning: Bool

    package init(own: [InterfaceAddress], announced: [IPAddress], isRunning: Bool = true) {
        self.own = own
        self.announced = announced
        self.isRunning = isRunning
    }

    /// Whether an address is reached on this link without a router.
    func reaches(_ address: IPAddress) -> Bool {
        address.isUnicast
            && (address.isLinkLocalIPv6 || own.contains { $0.reaches(address) })
    }
}

/// The sender of a packet.
package struct PacketSource: Hashable, Sendable {
    package let address: IPAddress
    package let port: UInt16

    package init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }
}

/// A peer that has announced itself, and where it accepts connections.
package struct DiscoveredPeer: Hashable, Sendable {
    /// An address on a link of this host.
    package struct Address: Hashable, Sendable {
        package let address: IPAddress
        package let port: UInt16
        /// The interface that reaches the address.
        package let interface: UInt32

        package init(address: IPAddress, port: UInt16, interface: UInt32) {
            self.address = address
            self.port = port
            self.interface = interface
        }
    }

    package let name: AnnouncedName
    /// The mark by which members that know the key of the peer recognize it.
    package let mark: [UInt8]
    package let addresses: [Address]

    package init(name: AnnouncedName, mark: [UInt8], addresses: [Address]) {
        self.name = name
        self.mark = mark
        self.addresses = addresses
    }
}
