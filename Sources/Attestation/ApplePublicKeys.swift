/// Apple's public keys, pinned: Apple prints them on its documentation pages and has no address to
/// fetch them from. Each is an X.509 SubjectPublicKeyInfo in base64.
enum ApplePublicKeys {
    /// SKAdNetwork 1.0 and 2.0.
    static let p192 =
        "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEMyHD625uvsmGq4C43cQ9BnfN2xslVT5V1nOmAMP6qaRRUll3PB1J"
        + "YmgSm+62sosG"
    /// SKAdNetwork from 2.1 on, and AdAttributionKit's `apple-cas-identifier/0`.
    static let p256 =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWdp8GPcGqmhgzEFj9Z2nSpQVddayaPe4FMzqM9wib1+aHaaIzoHo"
        + "LN9zW4K8y4SPykE3YVK3sVqW6Af0lfx3gg=="
    /// Both frameworks in Developer Mode from iOS 18 on, `apple-development-identifier/0`.
    static let developerMode =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeEDzpJEP+/qRSE5hJVC1p1J0ssUnQGMzBBbvnACBok8OVGGLgxL"
        + "0myrKiy6lvRtSlLRsWit87i+vftD8AEqeQ=="
    /// AdAttributionKit postbacks made in Settings, `apple-development-identifier/1`.
    static let settings =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YzdO7eM97s/IJ25kdW5CZ3A14USE5IJ5Ha/vhWaxI6UBI1ZxCEv"
        + "jrKxVluVGe6qWwF1BDFq+QHqKfH5u+wxHQ=="

    /// The keys of AdAttributionKit.
    static let adAttributionKit = [
        AdAttributionKitKey(kid: "apple-cas-identifier/0", key: p256, verdict: .valid),
        AdAttributionKitKey(
            kid: "apple-development-identifier/0",
            key: developerMode,
            verdict: .development
        ),
        AdAttributionKitKey(
            kid: "apple-development-identifier/1",
            key: settings,
            verdict: .development
        ),
    ]
}
