import SheafBytes
import SheafDocument
import SheafInspector
import SheafSystem

/// The page of a running inspector.
struct InspectorPage {
    /// The URL with the token.
    let url: String
    /// Whether only programs on this machine can connect.
    let isLoopback: Bool
}

/// An inspector in the process of a running peer, which ends with the connection to that process.
final class PeerInspection: Sendable {
    private let socket: ControlSocket
    private let path: String

    init(_ socket: ControlSocket, ofStore path: String) {
        self.socket = socket
        self.path = path
    }

    /// Starts the inspector.
    func start(_ options: InspectorOptions, port: UInt16) throws(ToolError) -> InspectorPage {
        let request: Object = [
            "do": "inspect", "address": .string(options.address), "port": .integer(Int64(port)),
            "isWritable": .bool(options.isWritable),
        ]
        guard socket.write(Value.object(request).json) else { throw ended }
        // The peer sends one line, and the next one only when it has stopped the inspector.
        var lines = ControlLines(socket)
        guard let line = lines.next() else { throw ended }
        guard line.first == "=" else { throw ControlClient.failure(String(line.dropFirst())) }
        guard case .object(let page)? = try? Value(json: String(line.dropFirst())) else {
            throw .failed("the peer sent an invalid response")
        }
        return InspectorPage(
            url: TerminalText.visible(try page.text("url")), isLoopback: page.isTrue("isLoopback"))
    }

    /// Waits for a signal, upon which the peer stops the inspector; throws if the peer ends first.
    func wait(for signals: StopSignals) throws(ToolError) -> ExitCode {
        let hasStopped = Monitor(false)
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-inspect") { [socket] in
                _ = signals.wait()
                hasStopped.withLock { $0 = true }
                socket.endWriting()
            }
        } catch {
            throw .failed("cannot create a thread (error \(error.code))")
        }
        var lines = ControlLines(socket)
        let last = lines.next()
        guard !hasStopped.withLock({ $0 }) else { return .ok }
        guard let last, last.first == "!" else { throw ended }
        throw ControlClient.failure(String(last.dropFirst()))
    }

    private var ended: ToolError {
        .failed(
            "the peer on \(path.shortened(to: ErrorText.limit)) has ended, and with it the inspector"
        )
    }
}
