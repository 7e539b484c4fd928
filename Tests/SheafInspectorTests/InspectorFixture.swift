import Sheaf
import SheafDocument
import SheafInspector
import SheafStore
import SheafTestSupport

/// An inspector in this process, by default of a store in memory.
final class InspectorFixture: InspectorAddress {
    let store: Store
    let inspector: Inspector

    /// Starts an inspector of a new store.
    init(_ options: InspectorOptions = InspectorOptions()) async throws {
        store = try await Store.inMemory()
        inspector = try await Inspector.start(store, options: options)
    }

    /// Starts an inspector of a store.
    init(_ store: Store, _ options: InspectorOptions = InspectorOptions()) async throws {
        self.store = store
        inspector = try await Inspector.start(store, options: options)
    }

    /// Starts an inspector of a peer.
    init(_ peer: Peer, _ options: InspectorOptions = InspectorOptions()) async throws {
        store = peer.store
        inspector = try await Inspector.start(peer, options: options)
    }

    /// Sends requests to a running inspector.
    init(_ store: Store, _ inspector: Inspector) {
        (self.store, self.inspector) = (store, inspector)
    }

    var port: UInt16 { inspector.port }
    var token: String { String(inspector.url.split(separator: "=").last ?? "") }
}

/// An inspector in a process of its own, whose memory other tests do not change.
final class InspectorProcess: InspectorAddress {
    let child: ChildProcess
    let port: UInt16
    let token: String

    /// Starts `sheaf inspect` for a store.
    init(_ path: String) throws {
        child = try ChildProcess(
            BuiltProgram.path(of: "sheaf"), ["inspect", path, "--no-open"])
        let url = child.lines()?.first ?? ""
        let parts = url.split { ":/=".contains($0) }
        port = UInt16(parts.dropFirst(2).first ?? "") ?? 0
        token = String(parts.last ?? "")
    }

    /// Returns a measure of its memory, such as `VmRSS`, in KiB.
    func memory(_ name: String) -> Int { ProcessMemory.kibibytes(name, of: child.identifier) }
}

/// Where an inspector answers.
protocol InspectorAddress: Sendable {
    var port: UInt16 { get }
    var token: String { get }
}

extension InspectorAddress {
    var host: String { "127.0.0.1:\(port)" }

    /// Sends a request on a new connection; nil if the server closes it without a response.
    ///
    /// `Host` and the token are added unless `header` has them.
    func response(
        _ method: String, _ target: String, _ header: [String] = [], body: String? = nil,
        hasToken: Bool = true
    ) -> RawResponse? {
        let client = RawClient(port: port)
        client.send(request(method, target, header, body: body, hasToken: hasToken))
        return RawResponse(from: client)
    }

    /// Returns the bytes of a request.
    func request(
        _ method: String, _ target: String, _ header: [String] = [], body: String? = nil,
        hasToken: Bool = true
    ) -> String {
        var lines = ["\(method) \(target) HTTP/1.1"] + header
        if !header.contains(where: { $0.hasPrefix("Host:") }) { lines.append("Host: \(host)") }
        if hasToken { lines.append("Authorization: Bearer \(token)") }
        if let body {
            lines.append("Content-Length: \(body.utf8.count)")
            if !header.contains(where: { $0.hasPrefix("Content-Type:") }) {
                lines.append("Content-Type: application/json")
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }

    /// Runs a statement by `POST /query`; returns the status and the JSON of the answer.
    func query(_ statement: String, _ further: Object = Object()) throws -> (Int, Object) {
        var body = further
        body["statement"] = .string(statement)
        return try object("POST", "/query", body: Value.object(body).json)
    }

    /// Sends a request; returns the status and the JSON of the answer.
    func object(
        _ method: String, _ target: String, body: String? = nil
    ) throws -> (Int, Object) {
        guard let response = response(method, target, body: body),
            case .object(let answer) = try Value(jsonBytes: response.body)
        else { return (0, Object()) }
        return (response.status, answer)
    }
}
