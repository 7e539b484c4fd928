import Foundation
import SheafTestSupport

/// A client of the server of `sheaf inspect`.
struct PageClient {
    let port: UInt16
    private let token: String

    struct InvalidURL: Error {
        let text: String
    }

    /// Reads a URL such as `http://127.0.0.1:8080/?token=TOKEN`.
    init(_ url: String) throws {
        guard let parts = URLComponents(string: url), let port = parts.port, parts.path == "/",
            parts.scheme == "http", parts.host == "127.0.0.1" || parts.host == "[::1]",
            let token = parts.queryItems?.first(where: { $0.name == "token" })?.value
        else { throw InvalidURL(text: url) }
        (self.port, self.token) = (UInt16(port), token)
    }

    /// Returns the status and the object of the answer to a request; nil if nothing answers.
    func get(_ target: String) -> (status: Int, answer: [String: Any])? {
        send("GET \(target) HTTP/1.1\r\n", body: "")
    }

    /// Runs a statement; returns the status and the object of the answer; nil if nothing answers.
    func query(_ statement: String) -> (status: Int, answer: [String: Any])? {
        guard let data = try? JSONSerialization.data(withJSONObject: ["statement": statement])
        else { return nil }
        return send(
            "POST /query HTTP/1.1\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(data.count)\r\n", body: String(decoding: data, as: UTF8.self))
    }

    /// Returns the rows of a statement.
    func rows(_ statement: String) -> [[String: Any]] {
        query(statement)?.answer["rows"] as? [[String: Any]] ?? []
    }

    private func send(_ start: String, body: String) -> (Int, [String: Any])? {
        guard let connection = try? LoopbackConnection(port: port) else { return nil }
        let request =
            start + "Host: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token)\r\n"
            + "Connection: close\r\n\r\n" + body
        guard connection.send(Array(request.utf8)) else { return nil }
        var bytes: [UInt8] = []
        while let piece = try? connection.receive(), !piece.isEmpty { bytes += piece }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n"),
            let status = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        let object = try? JSONSerialization.jsonObject(with: Data(text[end.upperBound...].utf8))
        return (status, object as? [String: Any] ?? [:])
    }
}
