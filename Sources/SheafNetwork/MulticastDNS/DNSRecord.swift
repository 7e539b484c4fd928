/// A resource record of the class Internet.
package struct DNSRecord: Hashable, Sendable {
    /// The data of a record, by its type.
    package enum Contents: Hashable, Sendable {
        /// A: the four bytes of an IPv4 address. AAAA: the sixteen bytes of an IPv6 address.
        case address(IPAddress)
        /// PTR: the name that this name leads to.
        case pointer(DNSName)
        /// SRV: the host and the port of a service.
        case service(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
        /// TXT: texts of up to 255 bytes.
        case texts([[UInt8]])
        /// A type that discovery does not use.
        case other(type: UInt16)

        /// The number of the type.
        package var type: UInt16 {
            switch self {
            case .address(let address): address.isIPv4 ? DNSType.address4 : DNSType.address6
            case .pointer: DNSType.pointer
            case .texts: DNSType.text
            case .service: DNSType.service
            case .other(let type): type
            }
        }
    }

    package let name: DNSName
    package let contents: Contents
    /// Number of seconds for which the record is valid; zero withdraws it.
    package var seconds: UInt32
    /// The cache-flush bit: whether the record replaces all others of its name and type that are
    /// older than a second.
    package var replacesOthers: Bool

    package init(
        _ name: DNSName, _ contents: Contents, seconds: UInt32, replacesOthers: Bool
    ) {
        self.name = name
        self.contents = contents
        self.seconds = seconds
        self.replacesOthers = replacesOthers
    }
}

/// The types of records and questions that discovery uses.
package enum DNSType {
    package static let address4: UInt16 = 1
    package static let pointer: UInt16 = 12
    package static let text: UInt16 = 16
    package static let address6: UInt16 = 28
    package static let service: UInt16 = 33
    /// In a question: all types.
    package static let any: UInt16 = 255
}

/// A question for the records of a name.
package struct DNSQuestion: Hashable, Sendable {
    package let name: DNSName
    package let type: UInt16
    /// Whether the answer may be sent to the asking host alone.
    package var permitsUnicast = false

    package init(_ name: DNSName, _ type: UInt16, permitsUnicast: Bool = false) {
        self.name = name
        self.type = type
        self.permitsUnicast = permitsUnicast
    }
}
