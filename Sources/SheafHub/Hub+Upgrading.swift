import SheafHubLog
import SheafSystem

/// The version of messages, which all hubs change together.
extension Hub {
    /// Lets all hubs write the newest version of messages that each live hub reads.
    ///
    /// Returns the version that they write now. Hubs that are started later, and do not read it,
    /// are not ready.
    @discardableResult
    public nonisolated(nonsending) func upgrade() async throws -> Int {
        let (file, threads, formats) = (file, threads, options.formats)
        let result = try await Thread.run(name: "sheaf-hub-upgrade") {
            Result {
                let hubs = threads.status.hubs.filter { $0.isLive && !$0.isDraining }
                let configuration = try file.change { configuration in
                    var configuration = configuration
                    let old = configuration.format
                    configuration.format = try FormatUpgrade(
                        current: old, own: formats, others: hubs
                    ).newest()
                    return configuration.format == old ? nil : configuration
                }
                threads.record(configuration)
                return configuration.format
            }
        }
        return Int(try result.get())
    }
}

/// The choice of the version that all hubs can read.
package struct FormatUpgrade {
    let current: UInt8
    let own: ClosedRange<UInt8>
    let others: [HubStatus.OtherHub]

    package init(current: UInt8, own: ClosedRange<UInt8>, others: [HubStatus.OtherHub]) {
        (self.current, self.own, self.others) = (current, own, others)
    }

    /// Returns the newest version of this hub; throws if a live hub cannot read it.
    package func newest() throws(HubError) -> UInt8 {
        guard own.upperBound > current else { return current }
        let newest = own.upperBound
        let older = others.filter { !$0.formats.contains(Int(newest)) }
        guard older.isEmpty else {
            let list = older.prefix(4).map {
                "\($0.key) reads \($0.formats.lowerBound) to "
                    + "\($0.formats.upperBound)"
            }
            throw HubError(
                "not all hubs read version \(newest): "
                    + list.joined(separator: "; ") + "; install the new release there first")
        }
        return newest
    }
}
