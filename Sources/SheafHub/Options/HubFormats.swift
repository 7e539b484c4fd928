import SheafHubLog

/// The versions of messages that hubs of this release read and write.
package enum HubFormats {
    package static let supported = HubMessage.version...HubMessage.version
}
