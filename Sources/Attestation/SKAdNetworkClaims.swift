/// What a SKAdNetwork postback says of itself and Apple signs: numbers, and texts in memory that
/// the caller lends for as long as the claims are used.
///
/// Texts are unescaped and otherwise as received: Apple signs `ad-network-id` in the case in which
/// it was registered. nil stands for a field that is absent or null.
package struct SKAdNetworkClaims {
    /// `version`; absent in postbacks of 1.0.
    package var version: UnsafeRawBufferPointer?
    /// `ad-network-id`, case kept.
    package var adNetworkID: UnsafeRawBufferPointer
    /// `campaign-id`, up to 3.0.
    package var campaignID: Int64?
    /// `source-identifier`, from 4.0; a text because its leading zeros are signed.
    package var sourceIdentifier: UnsafeRawBufferPointer?
    /// `app-id`, the advertised app.
    package var appID: Int64
    /// `transaction-id`, case kept.
    package var transactionID: UnsafeRawBufferPointer
    /// `redownload`, from 2.0.
    package var redownload: Bool?
    /// `source-app-id`, from 2.0; often absent.
    package var sourceAppID: Int64?
    /// `source-domain`, from 4.0; takes the place of `source-app-id` in web ads.
    package var sourceDomain: UnsafeRawBufferPointer?
    /// `fidelity-type`, from 2.2.
    package var fidelityType: Int64?
    /// `did-win`, from 3.0.
    package var didWin: Bool?
    /// `postback-sequence-index`, from 4.0.
    package var sequenceIndex: Int64?

    /// Claims with the fields that every postback has; the others are absent until they are set.
    package init(
        version: UnsafeRawBufferPointer?,
        adNetworkID: UnsafeRawBufferPointer,
        appID: Int64,
        transactionID: UnsafeRawBufferPointer
    ) {
        self.version = version
        self.adNetworkID = adNetworkID
        self.appID = appID
        self.transactionID = transactionID
    }
}
