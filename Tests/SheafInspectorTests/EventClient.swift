import SheafDocument
import Testing

/// A client of `GET /changes`.
final class EventClient {
    /// A server-sent event; its name is empty if it has an id alone.
    struct Event {
        let id: UInt64?
        let name: String
        let data: Object

        var commit: Int64? {
            guard name == "commit", case .integer(let commit)? = data["commit"] else { return nil }
            return commit
        }
    }

    private let client: RawClient
    let status: Int
    let contentType: String?
    /// Bytes of the current chunk that have not been read.
    private var text: [UInt8] = []

    /// Connects, and reads the header of the response.
    init(
        _ inspector: some InspectorAddress, _ target: String = "/changes", _ header: [String] = []
    ) {
        client = RawClient(port: inspector.port)
        client.send(inspector.request("GET", target, header))
        let head = RawHead(from: client)
        status = head?.status ?? 0
        contentType = head?.header["content-type"]
    }

    /// Returns the next event; nil at the end of the response.
    func next() -> Event? {
        var (id, name, data) = (UInt64?.none, "", Object())
        while let line = line() {
            if line.isEmpty { return Event(id: id, name: name, data: data) }
            if line.hasPrefix("id: ") { id = UInt64(line.dropFirst(4)) }
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("data: "),
                case .object(let object)? = try? Value(json: String(line.dropFirst(6)))
            {
                data = object
            }
        }
        return nil
    }

    /// Returns the next event that is no mere id or comment; nil at the end of the response.
    ///
    /// Comments without end, one every two seconds, are an issue of the test.
    func nextNamed() -> Event? {
        for _ in 0..<20 {
            guard let event = next() else { return nil }
            if !event.name.isEmpty { return event }
        }
        Issue.record("The inspector sends comments alone.")
        return nil
    }

    private func line() -> String? {
        while true {
            if let end = text.firstIndex(of: 0x0A) {
                defer { text.removeFirst(end + 1) }
                return String(decoding: text[..<end], as: UTF8.self)
            }
            guard let size = client.line().flatMap({ Int($0, radix: 16) }), size > 0,
                let chunk = client.bytes(size), client.line() == ""
            else { return nil }
            text += chunk
        }
    }
}
