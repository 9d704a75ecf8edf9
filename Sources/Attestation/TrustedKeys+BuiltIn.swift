extension TrustedKeys {
    /// Apple's keys, which are built in, by their names: SubjectPublicKeyInfos in base64.
    package static var builtInKeys: [String: String] {
        [
            "apple.p192": ApplePublicKeys.p192, "apple.p256": ApplePublicKeys.p256,
            "apple.developer_mode": ApplePublicKeys.developerMode,
            "apple.settings": ApplePublicKeys.settings,
        ]
    }
}
