// Package lang guesses what language a text is in.
//
// It looks at scripts first: kana is Japanese, Hangul Korean, Han without kana
// Chinese, and so on for scripts that one language has mostly to itself. Latin
// and Cyrillic text is told by its most frequent short words. That is enough to
// say what a prompt set is made of and to keep the English of it. It is no
// linguist: a short text, code, or a language it does not know is [Unknown],
// and close relatives (Danish and Norwegian, say) are not told apart.
package lang

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unknown is the answer where nothing speaks for a language.
const Unknown = "unknown"

// most is how much of a text is looked at.
const most = 4096

// scripts are those that decide by themselves, in the order they are tried.
var scripts = []struct {
	code  string
	table *unicode.RangeTable
}{
	{"ko", unicode.Hangul}, {"ar", unicode.Arabic}, {"he", unicode.Hebrew}, {"hi", unicode.Devanagari}, {"bn", unicode.Bengali},
	{"ta", unicode.Tamil}, {"te", unicode.Telugu}, {"th", unicode.Thai}, {"el", unicode.Greek}, {"ka", unicode.Georgian},
	{"hy", unicode.Armenian}, {"km", unicode.Khmer}, {"my", unicode.Myanmar}, {"am", unicode.Ethiopic},
}

// frequent are short words that are frequent in one language and rare in the
// others.
var frequent = func() map[string][]string {
	m := map[string][]string{}
	for code, list := range map[string]string{
		"en": "the of and to is in that it for you with are this be on as what how not have from can your write which please will an a i or my me who where when do does",
		"de": "der die das und ist nicht ein eine zu den mit von für auf sich wie wird ich sie dem des im auch es bei sind aus einen was",
		"fr": "le la les et est des une que dans pour qui pas sur du au plus par avec ce il je vous sont comment cette ou",
		"es": "el la los las que y en un una es por con para del se lo su más como qué cómo no al este son está",
		"pt": "os as que em um uma é por com para do da não se mais como dos das no na você são ou",
		"it": "il lo la gli le che di un una è per con non del della si come sono dei nel più anche cosa",
		"nl": "de het een en van is dat niet op te met voor zijn ik je er aan hoe wat ook naar bij",
		"pl": "nie na się jest że jak czy dla są przez oraz jako może który która napisz",
		"tr": "bir ve bu için ile ne da de mi nasıl olarak daha çok olan gibi var",
		"vi": "của và là các có cho một không được trong những với người này để như",
		"id": "yang dan di untuk dengan ini itu dari adalah tidak pada dalam apa akan saya bagaimana",
		"sv": "och att det som en är på av för med den inte till ett jag hur om har kan",
		"cs": "se na že jak ve které jsou nebo není který která pro při také napiš",
		"ro": "și de la în cu pe nu este care din pentru ce mai sunt",
		"ru": "и в не на что с как это по он я к из для но так все у от",
		"uk": "і в не на що з як це до та я у від для але є про",
	} {
		for w := range strings.FieldsSeq(list) {
			m[w] = append(m[w], code)
		}
	}
	return m
}()

// Detect returns the code of a text's language, such as "en", or [Unknown].
func Detect(text string) string {
	if len(text) > most {
		text = text[:most]
		for len(text) > 0 && !utf8.ValidString(text[len(text)-1:]) {
			text = text[:len(text)-1]
		}
	}
	letters, han, kana, latin := 0, 0, 0, 0
	counts := make([]int, len(scripts))
	for _, r := range text {
		if r < utf8.RuneSelf {
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				letters++
				latin++
			}
			continue
		}
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.In(r, unicode.Latin, unicode.Cyrillic):
			latin++
		default:
			for i := range scripts {
				if unicode.Is(scripts[i].table, r) {
					counts[i]++
					break
				}
			}
		}
	}
	// One character of these scripts says about as much as three letters.
	switch total := letters + 2*(han+kana); {
	case kana > 0 && 3*(han+kana) > total/3 && kana*20 > han:
		return "ja"
	case 3*han > total/3 && han > 1:
		return "zh"
	}
	for i, n := range counts {
		if n > letters/3 && n > 1 {
			return scripts[i].code
		}
	}
	if latin == 0 {
		return Unknown
	}
	return byWords(text)
}

// byWords tells languages of one script apart. The winner must have two words,
// and an eighth of all.
func byWords(text string) string {
	votes := map[string]int{}
	total := 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) }) {
		total++
		for _, code := range frequent[w] {
			votes[code]++
		}
	}
	best, n, tied := Unknown, 0, false
	for code, v := range votes {
		switch {
		case v > n:
			best, n, tied = code, v, false
		case v == n:
			tied = true
		}
	}
	if tied || n < 2 || n*8 < total {
		return Unknown
	}
	return best
}

// names are languages as data sets write them out.
var names = map[string]string{
	"english": "en", "chinese": "zh", "mandarin": "zh", "german": "de", "french": "fr", "spanish": "es", "portuguese": "pt",
	"italian": "it", "dutch": "nl", "polish": "pl", "turkish": "tr", "vietnamese": "vi", "indonesian": "id", "swedish": "sv",
	"czech": "cs", "romanian": "ro", "russian": "ru", "ukrainian": "uk", "japanese": "ja", "korean": "ko", "arabic": "ar",
	"hebrew": "he", "hindi": "hi", "bengali": "bn", "tamil": "ta", "telugu": "te", "thai": "th", "greek": "el", "persian": "fa",
}

// Code returns the code that a name of a language stands for: "English", "EN",
// "en-US" and "en_us" are all "en". What looks like no language is "".
func Code(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if code, ok := names[name]; ok {
		return code
	}
	code, _, _ := strings.Cut(strings.ReplaceAll(name, "_", "-"), "-")
	if len(code) != 2 && len(code) != 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}
